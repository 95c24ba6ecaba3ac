# The gateway. Built from pinned requirements; the last stage holds neither a compiler nor a package index's cache.

FROM python:3.11.14-slim-bookworm AS build
WORKDIR /src
COPY requirements/build.txt requirements/gateway.txt requirements/
RUN python -m venv /build && /build/bin/pip install --no-cache-dir --require-hashes --no-deps -r requirements/build.txt \
 && python -m venv /opt/assent && /opt/assent/bin/pip install --no-cache-dir --require-hashes --no-deps -r requirements/gateway.txt
COPY . .
RUN /build/bin/pip wheel --no-deps --no-build-isolation --no-index --wheel-dir /wheels ./sdk . \
 && /opt/assent/bin/pip install --no-cache-dir --no-deps --no-index /wheels/*.whl

FROM python:3.11.14-slim-bookworm
COPY --from=build /opt/assent /opt/assent
ENV PATH=/opt/assent/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
RUN groupadd --system --gid 10001 assent && useradd --system --no-create-home --uid 10001 --gid assent assent \
 && install --directory --owner assent --group assent --mode 700 /var/lib/assent
# As a number, so that Kubernetes can see that it is not root.
USER 10001:10001
WORKDIR /etc/assent
EXPOSE 8080
# The answer of this very process; what stands behind it is /readyz's concern, so that a slow database kills no gateway.
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s --retries=3 \
  CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8080/healthz', timeout=2).close()"]
ENTRYPOINT ["assent"]
CMD ["serve", "--config", "/etc/assent/assent.yaml"]
