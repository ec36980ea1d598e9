"""The sentences of causes.toml, which say what a kernel or a provider does instead."""

from pathlib import Path


def _read(file):
    lines = (line.partition(" = ") for line in file.read_text("utf-8").splitlines())
    return {name: sentence[1:-1] for name, equals, sentence in lines if equals}


_sentences = _read(Path(__file__).with_name("causes.toml"))


def cause(name, *parameters):
    return _sentences[name].format(*parameters)
