"""Where the pages of who is who are. The page that makes a key needs the catalogue: see `bigmind/urls.py`."""

from django.urls import path

from accounts.views import invitations, keys, password, people, second_factor, sign_in, sign_in_code, sign_ins, sso

urlpatterns = [
    path("sign-in/", sign_in.sign_in, name="sign-in"),
    path("sign-in/sso/", sso.begin, name="sso"),
    path("sign-in/sso/callback/", sso.callback, name="sso-callback"),
    path("sign-in/code/", sign_in_code.sign_in_code, name="sign-in-code"),
    path("sign-in/<str:token>/", sign_in.sign_in_link, name="sign-in-link"),
    path("sign-out/", sign_in.sign_out, name="sign-out"),
    path("password/", password.password, name="password"),
    path("second-factor/", second_factor.second_factor, name="second-factor"),
    path("second-factor/set-up/", second_factor.set_up, name="second-factor-set-up"),
    path("second-factor/codes/", second_factor.renew, name="second-factor-codes"),
    path("second-factor/remove/", second_factor.remove, name="second-factor-remove"),
    path("sign-ins/", sign_ins.sign_ins, name="sign-ins"),
    path("sign-ins/elsewhere/end/", sign_ins.end_elsewhere, name="sign-ins-end-elsewhere"),
    path("sign-ins/<int:sign_in_id>/end/", sign_ins.end, name="sign-in-end"),
    path("invitation/<str:token>/", invitations.join, name="invitation"),
    path("people/", people.people, name="people"),
    path("people/invite/", invitations.invite_somebody, name="invite"),
    path("people/invitations/<int:invitation_id>/revoke/", invitations.revoke, name="invitation-revoke"),
    path("people/addresses/unlock/", people.unlock_address, name="address-unlock"),
    path("people/<uuid:person_id>/", people.person, name="person"),
    path("people/<uuid:person_id>/role/", people.role, name="person-role"),
    path("people/<uuid:person_id>/deactivate/", people.deactivate, name="person-deactivate"),
    path("people/<uuid:person_id>/activate/", people.activate, name="person-activate"),
    path("people/<uuid:person_id>/sign-out/", people.sign_out, name="person-sign-out"),
    path("people/<uuid:person_id>/unlock/", people.unlock, name="person-unlock"),
    path("people/<uuid:person_id>/password/", people.reset_password, name="person-password"),
    path("people/<uuid:person_id>/second-factor/reset/", people.reset_code, name="person-second-factor"),
    path("people/<uuid:person_id>/delete/", people.delete, name="person-delete"),
    path("keys/", keys.keys, name="keys"),
    path("keys/<uuid:key_id>/new/", keys.new, name="key-new"),
    path("keys/<uuid:key_id>/arrival/", keys.arrival, name="key-arrival"),
    path("keys/<uuid:key_id>/rotate/", keys.rotate, name="key-rotate"),
    path("keys/<uuid:key_id>/revoke/", keys.revoke, name="key-revoke"),
]
