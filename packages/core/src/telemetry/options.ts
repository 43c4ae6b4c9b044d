/** What an agent, or a tool alone, is told of its telemetry. */

import type { Attributes, MeterProvider, TracerProvider } from '@opentelemetry/api'
import { ConfigError } from '../errors.ts'
import { checkOptions, checkRecord, type OptionNames } from '../option-checks.ts'
import type { CaptureContent } from './content.ts'

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

const NAMES: OptionNames<TelemetryOptions> = {
  tracerProvider: 'tracer',
  meterProvider: 'meter',
  usageOnRun: '',
  captureContent: '',
  attributes: '',
}

/** Throws {@link ConfigError} naming what cannot work. `false` would switch nothing off: without an SDK there is nothing on. */
export function checkTelemetry(telemetry: TelemetryOptions | undefined): void {
  checkOptions('telemetry', telemetry, NAMES, 'telemetry.')
  const { tracerProvider, meterProvider, attributes } = telemetry ?? {}
  checkRecord('telemetry.attributes', attributes)
  if (tracerProvider && typeof tracerProvider.getTracer !== 'function')
    throw new ConfigError('telemetry.tracerProvider', 'must be a tracer provider of OpenTelemetry')
  if (meterProvider && typeof meterProvider.getMeter !== 'function')
    throw new ConfigError('telemetry.meterProvider', 'must be a meter provider of OpenTelemetry')
}
