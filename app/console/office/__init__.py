"""Pages for who looks after it all: single requests as stories, the trail, the pulse, the rules."""
