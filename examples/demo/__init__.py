"""The whole of Assent on one machine and one page: two chats, a gateway, an agent, and the buttons to kill them."""
