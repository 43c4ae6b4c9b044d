/** The options of telemetry: where spans and metrics go, and what they may hold. */

import type { MeterProvider, TracerProvider } from '@opentelemetry/api'
import type { Attributes, CaptureContent } from './span-content.ts'
import type { Run } from './tool.ts'

export interface TelemetryOptions {
  /** Default: the global one, asked when a run begins, so that an SDK registered after the import counts. */
  readonly tracerProvider?: TracerProvider
  /** Default: the global one, asked when a run begins, so that an SDK registered after the import counts. */
  readonly meterProvider?: MeterProvider
  /** Whether the run's span carries the sums of its model calls' token counts. Default true. */
  readonly usageOnRun?: boolean
  /**
   * Whether spans hold messages, arguments, results and error texts: see {@link CaptureContent}. By default they do not, unless
   * `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` says so. A `beforeAgent` may change it for its run.
   */
  readonly captureContent?: CaptureContent
  /**
   * Put on the run's span at its start: an experiment's label, a tenant. A function is asked once a run, when its span starts and only if
   * it is recorded; what it returns is also on the spans of the run's model calls and tool calls. If it throws, there are none.
   */
  readonly attributes?: Attributes | ((run: Run) => Attributes)
}
