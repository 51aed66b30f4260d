"""The web toolkit: what the pages of all apps are made with. It knows none of them."""
