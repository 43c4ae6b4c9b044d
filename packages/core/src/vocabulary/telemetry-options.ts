/** The options of telemetry: where spans and metrics go, and what they may hold. */

import type { MeterProvider, TracerProvider } from '@opentelemetry/api'
import type { Attributes, CaptureContent } from './span-content.ts'
import type { Run } from './tool.ts'

/** Which hooks and wraps have a span: see {@link TelemetryOptions.middleware}. */
export type MiddlewareSpans = 'all' | 'changed' | 'none'

export interface TelemetryOptions {
  /** Default: the global one, asked when a run begins, so that an SDK registered after the import counts. */
  readonly tracerProvider?: TracerProvider
  /** Default: the global one, asked when a run begins, so that an SDK registered after the import counts. */
  readonly meterProvider?: MeterProvider
  /**
   * Whether the run's span also has the sums of its model calls' token counts, those of earlier parts of a resumed run included. A back end
   * that adds up `gen_ai.usage.*` over all spans then counts each token twice. Default false: the sums are in `result.usage`, and the
   * metrics count each token once.
   */
  readonly usageOnRun?: boolean
  /**
   * Whether spans hold messages, arguments, results and error texts: see {@link CaptureContent}. By default they do not, unless
   * `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` says so. A `beforeAgent` may change it for its run.
   */
  readonly captureContent?: CaptureContent
  /**
   * Which hooks and wraps have a span. Default: that of the agent that calls this one, else `all`.
   * - `all`: each has one. What runs inside a wrap has its span under it.
   * - `changed`: those that did something by themselves. They gave something else than they got (another object), waited for more than 1 ms at
   *   once (what `next` did not cause), answered without `next`, called `next` twice, or threw an error that `next` did not throw. Their spans are made
   *   when they are over. All other spans are next to them, not under them: in a hook or wrap the run's span is active.
   * - `none`: none has.
   */
  readonly middleware?: MiddlewareSpans
  /**
   * Put on the run's span at its start: an experiment's label, a tenant. A function is asked once a run, when its span starts and only if
   * it is recorded; what it returns is also on the spans of the run's model calls and tool calls. If it throws, there are none.
   */
  readonly attributes?: Attributes | ((run: Run) => Attributes)
}
