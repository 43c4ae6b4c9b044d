/** What an agent, or a tool alone, is told of its telemetry. */

import { type Attributes, diag, type MeterProvider, type TracerProvider } from '@opentelemetry/api'
import { ConfigError } from '../errors.ts'
import { checkOptions, checkRecord, type OptionNames } from '../option-checks.ts'
import { untroubled } from './untroubled.ts'

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

const VARIABLE = 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT'

/** What the environment says, as OpenTelemetry's own instrumentations read it. We write no log events. */
const ON = /^(true|span_only|span_and_event)$/i
const OFF = /^(false|no_content|event_only)?$/i

let toldOf = ''

/** What code says, else what the environment says. A word it does not know is off, and OpenTelemetry's log is told once. */
export function captureOf(option: CaptureContent | undefined): CaptureContent {
  if (option !== undefined) return option
  const word = globalThis.process?.env?.[VARIABLE] ?? ''
  const isOn = ON.test(word)
  if (!isOn && !OFF.test(word) && word !== toldOf) {
    toldOf = word
    untroubled(() =>
      diag.warn(`meanwhile: ${VARIABLE} is ${word}, which is none of its values; no content is captured`),
    )
  }
  return isOn
}
