// --- passkeys: the device signs what the gateway puts to it, and the form carries the answer ---
{
  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (char) => char.charCodeAt(0));
  const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  const decoded = (options) => ({
    ...options,
    challenge: bytes(options.challenge),
    ...(options.user && { user: { ...options.user, id: bytes(options.user.id) } }),
    ...Object.fromEntries(["allowCredentials", "excludeCredentials"].filter((name) => options[name])
      .map((name) => [name, options[name].map((each) => ({ ...each, id: bytes(each.id) }))])),
  });
  const encoded = (made) => ({
    id: made.id, rawId: text(made.rawId), type: made.type, clientExtensionResults: {},
    response: Object.fromEntries(["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]
      .filter((name) => made.response[name]).map((name) => [name, text(made.response[name])])),
  });
  const put = (form, name, value) => {
    const field = form.elements[name] ?? form.appendChild(Object.assign(document.createElement("input"), { type: "hidden", name }));
    field.value = value;
  };
  const sign = async (form) => {
    const { ask, failed, makes } = form.dataset;
    const told = document.getElementById("told");
    told.hidden = true;
    try {
      const answer = await fetch(ask, { method: "POST", credentials: "same-origin", cache: "no-store",
        body: new URLSearchParams(new FormData(form)) });
      if (answer.status === 409) throw new Error((await answer.json()).error);
      if (!answer.ok) throw new Error(failed);
      const { options, challenge } = await answer.json();
      const publicKey = decoded(options);
      const made = await navigator.credentials[makes ? "create" : "get"]({ publicKey })
        .catch(() => { throw new Error(failed); });
      put(form, "challenge", challenge);
      put(form, "answer", JSON.stringify(encoded(made)));
      form.submit();
    } catch (error) {
      told.textContent = error.message || failed;
      told.hidden = false;
      for (const button of [...form.elements].filter((each) => each.localName === "button")) button.disabled = false;
    }
  };
  for (const form of document.querySelectorAll("form[data-ask]")) form.addEventListener("submit", (event) => {
    if (event.submitter?.hasAttribute("formaction") || form.elements.totp?.value) return;
    event.preventDefault();
    sign(form);
  });
}
