"""The client's person on the wire: their prompts, and the approvals and questions put to them.

The host words every approval. An answer counts for the question that it was given to: the options of
each carry its id, and anything but one of them denies.
"""

from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote, urlsplit

from acp import schema
from acp.helpers import text_block, tool_content
from pydantic import ValidationError

from sam_tui.acp_agent.updates import diff_content, kind_of
from sam_tui.core.errors import UsageError
from sam_tui.core.inquiry import Answer, Approval, ApprovalRequest, Inquiry, Question, Reply
from sam_tui.core.messages import Image
from sam_tui.core.prompt.images import image_of_text
from sam_tui.core.todos.item import one_line, visible_text
from sam_tui.core.tooling.neutralization import neutralise

_DENY: Final = "deny"
_LONGEST_NAME: Final = 160
_LONGEST_PROMPT: Final = 10 * 1024 * 1024
Blocks = Sequence[
    schema.TextContentBlock
    | schema.ImageContentBlock
    | schema.AudioContentBlock
    | schema.ResourceContentBlock
    | schema.EmbeddedResourceContentBlock
]


def prompt_text(blocks: Blocks) -> str:
    """Return a prompt's blocks as one text. Raises ``UsageError`` for a kind that no model here gets."""
    text = "\n\n".join(_block_text(block) for block in blocks)
    if len(text) > _LONGEST_PROMPT:
        raise UsageError("The prompt is larger than 10 MB.", hint="Name the file instead.")
    return text


def prompt_images(blocks: Blocks) -> list[Image]:
    """Return the images of a prompt. Raises ``UsageError`` for data that is no image, or too large."""
    images: list[Image] = []
    for block in blocks:
        if not isinstance(block, schema.ImageContentBlock):
            continue
        image = image_of_text(f"image {len(images) + 1}", block.data)
        if image is None:
            raise UsageError(
                "An image of the prompt cannot be used.",
                hint="Send PNG, JPEG, GIF or WebP of up to 3.75 MB.",
            )
        images.append(image)
    return images


def _block_text(block: object) -> str:
    match block:
        case schema.TextContentBlock(text=text):
            return text
        case schema.ResourceContentBlock(uri=uri, name=name):
            return f"[{one_line(name)}]({_address(uri)})"
        case schema.EmbeddedResourceContentBlock(resource=schema.TextResourceContents() as text):
            return f'<resource from="{_address(text.uri)}">\n{neutralise(text.text)}\n</resource>'
        case schema.EmbeddedResourceContentBlock(resource=resource):
            return f"[a file that is not text: {_address(resource.uri)}]"
        case schema.ImageContentBlock():
            return "[image]"
        case _:
            raise UsageError(
                "Audio cannot be sent to the model yet.",
                hint="Send text and resources, as the capabilities of this agent say.",
            )


def _address(uri: str) -> str:
    """Return a file's path; any other address is unchanged."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return one_line(uri)
    return one_line(unquote(parts.path) if parts.scheme == "file" else uri)


def permission_request(
    session: str, call: str, inquiry: Inquiry, request: ApprovalRequest
) -> schema.RequestPermissionRequest:
    """The question for the client, about a call that it may know already."""
    options = [
        schema.PermissionOption(
            option_id=_option(inquiry, choice.id),
            name=f"Allow: {one_line(choice.words)}"[:_LONGEST_NAME],
            kind="allow_once" if choice.span == "once" else "allow_always",
        )
        for choice in request.choices
    ]
    refusal = schema.PermissionOption(
        option_id=_option(inquiry, _DENY), name="Reject", kind="reject_once"
    )
    words = [f"**{one_line(request.operation)}**: {_plain(request.why)}", ""]
    words += [f"- from: {_plain(request.asker)}"] if request.asker else []
    words += [f"- target: {_plain(target)}" for target in request.targets]
    words += [f"- letters: {_plain(letters)}" for letters in request.letters]
    words += [f"- in: {_plain(request.cwd)}"]
    words += [f"- the agent says: {_plain(request.words)}"] if request.words else []
    return schema.RequestPermissionRequest(
        session_id=session,
        options=[*options, refusal],
        tool_call=schema.ToolCallUpdate(
            tool_call_id=call,
            title=one_line(request.summary) or request.operation,
            kind=kind_of(request.operation),
            status="pending",
            content=[
                tool_content(text_block("\n".join(words))),
                *(diff_content(change, request.cwd) for change in request.preview),
            ],
        ),
    )


def decision_of(inquiry: Inquiry, request: ApprovalRequest, result: object) -> Approval:
    """Return the person's decision. Only an option that was offered for this very inquiry allows."""
    try:
        outcome = schema.RequestPermissionResponse.model_validate(result).outcome
    except ValidationError:
        return Approval("deny", "The client's answer could not be read.")
    if isinstance(outcome, schema.DeniedOutcome):
        return Approval("deny", "They dismissed the question.")
    offered = {_option(inquiry, choice.id): choice.id for choice in request.choices}
    scope = offered.get(outcome.option_id)
    return Approval("deny") if scope is None else Approval("scope", scope=scope)


def form_request(session: str, call: str, question: Question) -> dict[str, object]:
    """An elicitation with the agent's question."""
    answer: dict[str, object] = {"type": "string", "title": "Your answer"}
    if question.several or question.free:
        answer["description"] = question.offered
    elif question.choices:
        answer["enum"] = list(question.choices)
    parts = (visible_text(question.prompt), visible_text(question.context))
    return {
        "sessionId": session,
        "toolCallId": call,
        "mode": "form",
        "message": "\n\n".join(part for part in parts if part),
        "requestedSchema": {
            "type": "object",
            "properties": {"answer": answer},
            "required": ["answer"],
        },
    }


def reply_of(question: Question, result: object) -> Answer | None:
    """The person's reply; None if they gave no answer."""
    try:
        accepted = schema.AcceptElicitationResponse.model_validate(result)
    except ValidationError:
        return None
    text = (accepted.content or {}).get("answer")
    reply = question.reply(text) if isinstance(text, str) else ""
    return Reply(reply) if reply else None


def _option(inquiry: Inquiry, choice: str) -> str:
    return f"{inquiry.id}:{choice}"


def _plain(text: str) -> str:
    """Untrusted text on one line, as inline code in Markdown."""
    plain = one_line(text).replace("`", "'")
    return f"`{plain}`"
