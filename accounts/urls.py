"""Where the pages of who is who are. The page that makes a key needs the catalogue: see `bigmind/urls.py`."""

from django.urls import path

from accounts.views import keys, password, sign_in

urlpatterns = [
    path("sign-in/", sign_in.sign_in, name="sign-in"),
    path("sign-in/<str:token>/", sign_in.sign_in_link, name="sign-in-link"),
    path("sign-out/", sign_in.sign_out, name="sign-out"),
    path("password/", password.password, name="password"),
    path("keys/", keys.keys, name="keys"),
    path("keys/<uuid:key_id>/new/", keys.new, name="key-new"),
    path("keys/<uuid:key_id>/rotate/", keys.rotate, name="key-rotate"),
    path("keys/<uuid:key_id>/revoke/", keys.revoke, name="key-revoke"),
]
