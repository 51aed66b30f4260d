"""Programs of Rust and Go are called as their packages declare them, and read by their help."""

import pytest

from bigmind.core.errors import Invalid
from knowledge.references.readers.program_names import program_of
from knowledge.references.readers.registry import Source, generator_for

GO_MAIN = "package main\n\nfunc main() {}\n"


def _write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    ("files", "asked", "program"),
    [
        ({"Cargo.toml": '[package]\nname = "fd-find"\n[[bin]]\nname = "fd"\n', "src/main.rs": ""}, "src/main.rs", "fd"),
        ({"Cargo.toml": '[package]\nname = "trip"\n', "src/main.rs": ""}, "src/main.rs", "trip"),
        (
            {
                "Cargo.toml": '[[bin]]\nname = "a"\npath = "src/a.rs"\n[[bin]]\nname = "b"\npath = "src/b.rs"\n',
                "src/a.rs": "",
                "src/b.rs": "",
            },
            "src/b.rs",
            "b",
        ),
        ({"Cargo.toml": '[[bin]]\nname = "a"\n[[bin]]\nname = "b"\n', "src/cli.rs": ""}, "src/cli.rs", ""),
        ({"go.mod": "module example.org/acme/trip/v2\n", "main.go": GO_MAIN}, "main.go", "trip"),
        ({"go.mod": "module example.org/acme/all\n", "cmd/trip/main.go": GO_MAIN}, "cmd/trip", "trip"),
        ({"go.mod": "module example.org/acme/all\n", "cmd/root.go": "package cmd\n"}, "cmd/root.go", ""),
        ({"Cargo.toml": "[package", "src/main.rs": ""}, "src/main.rs", ""),
    ],
)
def test_a_package_of_rust_or_go_declares_its_program(tmp_path, files, asked, program):
    _write(tmp_path, files)

    assert program_of(tmp_path / asked) == program


def test_code_of_rust_and_go_is_answered_with_the_line_that_reads_its_program(tmp_path):
    _write(tmp_path, {"go.mod": "module example.org/acme/trip\n", "main.go": GO_MAIN})

    with pytest.raises(Invalid) as refused:
        generator_for(Source(str(tmp_path / "main.go")))

    assert "bigmind references_import trip --kind help" in refused.value.hint
