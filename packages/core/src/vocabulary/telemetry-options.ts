/** Defines the telemetry options: where spans and metrics go, and what they contain. */

import type { MeterProvider, TracerProvider } from '@opentelemetry/api'
import type { Attributes, CaptureContent } from './span-content.ts'
import type { Run } from './tool.ts'

/** Which hooks and wraps have a span: see {@link TelemetryOptions.middleware}. */
export type MiddlewareSpans = 'all' | 'changed' | 'none'

/** Where spans and metrics go, and what they contain. */
export interface TelemetryOptions {
  /** The provider of the tracer. Default: the global one at the time when a run begins, so you can register an SDK after the import. */
  readonly tracerProvider?: TracerProvider
  /** The provider of the meter. Default: the global one at the time when a run begins, so you can register an SDK after the import. */
  readonly meterProvider?: MeterProvider
  /**
   * Whether the run's span also has the sum of the token counts of its model calls, including those before a resume. A back end that adds up
   * `gen_ai.usage.*` over all spans then counts each token twice. Default false: `result.usage` has the sums, and the metrics count each token once.
   */
  readonly usageOnRun?: boolean
  /**
   * Whether spans contain messages, arguments, results and error texts: see {@link CaptureContent}. Default: only if the environment variable
   * `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` enables it. A `beforeAgent` may change it for its run.
   */
  readonly captureContent?: CaptureContent
  /**
   * Which hooks and wraps have a span. Default: that of the agent that calls this one, otherwise `all`.
   * - `all`: each hook and wrap has a span. The spans of what runs inside a wrap are its children.
   * - `changed`: only a hook or wrap that did something itself: it returned another object than it received, waited for more than 1 ms at once (not
   *   for `next`), answered without calling `next`, called `next` twice, or threw an error that did not come from `next`. Its span is created when it
   *   has ended, and has no children: other spans are its siblings. While it runs, the run's span is the active one.
   * - `none`: no hook or wrap has a span.
   */
  readonly middleware?: MiddlewareSpans
  /**
   * Set on the run's span at its start: the label of an experiment, a tenant. A function is called once per run, when the span starts and only if the
   * span is recorded; the attributes that it returns are also on the spans of the run's model calls and tool calls. If it throws, there are none.
   */
  readonly attributes?: Attributes | ((run: Run) => Attributes)
}
