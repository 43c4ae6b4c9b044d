/** The options of telemetry: where spans and metrics go, and what they may hold. */

import type { Attributes, MeterProvider, TracerProvider } from '@opentelemetry/api'

export type { Attributes } from '@opentelemetry/api'

/**
 * Whether spans hold messages, arguments, results and error texts. A function is asked for each: it is given the attribute's
 * name and the value before it becomes JSON, and gives what to record instead, or `undefined` for nothing; if it throws,
 * nothing is recorded. An attribute holds at most some 64 KiB, a string in it 8 KiB; what is left out is so by whole messages,
 * parts and tools, in the form of the conventions.
 */
export type CaptureContent = boolean | ((attribute: string, value: unknown) => unknown)

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
  /** Put on the run's span at its start: an experiment's label, a tenant. */
  readonly attributes?: Attributes
}
