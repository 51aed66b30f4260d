"""Keep the tries to sign in where every process counts the same ones."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0002_apikey_unlinked_at"),
    ]

    operations = [
        migrations.CreateModel(
            name="SignInTry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name_digest", models.CharField(max_length=64)),
                (
                    "address",
                    models.CharField(
                        blank=True, help_text="Where it came from; of IPv6, the network.", max_length=45
                    ),
                ),
                ("at", models.DateTimeField()),
            ],
            options={
                "verbose_name": "sign-in try",
                "verbose_name_plural": "sign-in tries",
                "indexes": [
                    models.Index(fields=["address", "at"], name="sign_in_try_from"),
                    models.Index(fields=["at"], name="sign_in_try_at"),
                ],
            },
        ),
    ]
