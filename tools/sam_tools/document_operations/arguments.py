"""The arguments of every operation, under the seed's names."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field

from sam_tui.core.ports.documents import EXTENSIONS, DocumentFormat, Styling
from sam_tui.core.todos.item import one_line
from sam_tui.core.tooling.arguments import Arguments

_OTHER_NAMES = {"md": "markdown", "text": "txt", "word": "docx", "excel": "xlsx"}
_BY_EXTENSION: dict[str, DocumentFormat] = {
    extension: format_ for format_, extension in EXTENSIONS.items()
}


def _format(value: object) -> object:
    if not isinstance(value, str):
        return value
    name = value.strip().lower().removeprefix(".")
    return _OTHER_NAMES.get(name, name)


class ImportDocument(Arguments):
    """The arguments of ``document_import``."""

    also: ClassVar[Mapping[str, tuple[str, ...]]] = {"filepath": ("path",)}
    path: str = Field(min_length=1, description="file, or http(s) address for import")
    tags: tuple[str, ...] = ()


class Looks(Arguments):
    """The ``styling`` of ``document_create``, in points."""

    fontSize: float = Field(default=12.0, ge=4, le=72)
    headingSizes: tuple[float, ...] = Field(default=(24.0, 20.0, 16.0), description="levels 1 to 3")
    margin: float = Field(default=72.0, ge=0, le=300)
    pageWidth: float = Field(default=612.0, ge=100, le=4000)
    pageHeight: float = Field(default=792.0, ge=100, le=4000)
    lineSpacing: float = Field(default=1.15, ge=0.8, le=4)

    def styling(self) -> Styling:
        """As the port takes it; missing heading sizes are the usual ones, all between 4 and 144."""
        usual = Styling().heading_sizes
        sizes = [min(max(size, 4.0), 144.0) for size in self.headingSizes[:3]]
        first, second, third = (*sizes, *usual[len(sizes) :])
        return Styling(
            font_size=self.fontSize,
            heading_sizes=(first, second, third),
            margin=min(self.margin, self.pageWidth / 3, self.pageHeight / 3),
            page_width=self.pageWidth,
            page_height=self.pageHeight,
            line_spacing=self.lineSpacing,
        )


class CreateDocument(Arguments):
    """The arguments of ``document_create``."""

    content: str = Field(min_length=1, description="Markdown; for xlsx tables or CSV")
    format: Annotated[DocumentFormat, BeforeValidator(_format)] = Field(
        default="pdf", description="default pdf"
    )
    filename: str = Field(default="document", description="without extension")
    output_path: str = Field(default="", description="folder or file; default the workspace")
    overwrite: bool = Field(default=False, description="replace an existing file")
    styling: Looks | None = Field(default=None, description="for pdf, docx, rtf; in points")

    @property
    def chosen(self) -> DocumentFormat:
        """The format: the one given, else that of the file name's extension, else PDF."""
        if "format" in self.model_fields_set:
            return self.format
        for name in (self.output_path, self.filename):
            chosen_format = _BY_EXTENSION.get(PurePosixPath(name).suffix.lower())
            if chosen_format is not None:
                return chosen_format
        return self.format

    @property
    def target(self) -> str:
        """The file to write, as a path argument."""
        extension = EXTENSIONS[self.chosen]
        path = self.output_path.strip()
        if PurePosixPath(path).suffix.lower() == extension:
            return path
        name = one_line(self.filename) or "document"
        if not name.lower().endswith(extension):
            name += extension
        return str(PurePosixPath(path or ".") / name)


class DocumentInfo(Arguments):
    """The arguments of ``get_doc_info``."""

    path: str = Field(default="", description="file, or http(s) address for import")
