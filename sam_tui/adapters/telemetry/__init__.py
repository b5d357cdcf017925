"""OpenTelemetry: what an agent does as traces and metrics, for a collector that the person names."""

from sam_tui.adapters.telemetry.recorder import TelemetryRecorder as TelemetryRecorder
from sam_tui.adapters.telemetry.sender import OtlpSender as OtlpSender
