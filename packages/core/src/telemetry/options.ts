/** Checks the options of telemetry, and reads the environment variable that replaces a missing option. */

import { diag } from '@opentelemetry/api'
import { ConfigError } from '../vocabulary/errors.ts'
import { checkOptions, checkRecord, type OptionNames } from '../vocabulary/option-checks.ts'
import type { CaptureContent } from '../vocabulary/span-content.ts'
import type { MiddlewareSpans, TelemetryOptions } from '../vocabulary/telemetry-options.ts'
import { untroubled } from './untroubled.ts'

const NAMES: OptionNames<TelemetryOptions> = {
  tracerProvider: 'tracer',
  meterProvider: 'meter',
  usageOnRun: '',
  captureContent: '',
  middleware: 'hooks wraps',
  attributes: '',
}

const MIDDLEWARE_SPANS: readonly MiddlewareSpans[] = ['all', 'changed', 'none']

/** Throws {@link ConfigError} that names an invalid option. `false` is not accepted: without an SDK telemetry is off anyway. */
export function checkTelemetry(telemetry: TelemetryOptions | undefined): void {
  checkOptions('telemetry', telemetry, NAMES, 'telemetry.')
  const { tracerProvider, meterProvider, attributes, middleware = 'all' } = telemetry ?? {}
  if (typeof attributes !== 'function') checkRecord('telemetry.attributes', attributes)
  if (!MIDDLEWARE_SPANS.includes(middleware))
    throw new ConfigError('telemetry.middleware', "must be 'all', 'changed' or 'none'")
  if (tracerProvider && typeof tracerProvider.getTracer !== 'function')
    throw new ConfigError('telemetry.tracerProvider', 'must be a tracer provider of OpenTelemetry')
  if (meterProvider && typeof meterProvider.getMeter !== 'function')
    throw new ConfigError('telemetry.meterProvider', 'must be a meter provider of OpenTelemetry')
}

const VARIABLE = 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT'

/** The values of the variable, as OpenTelemetry's own instrumentations read them. We write no log events. */
const ON = /^(true|span_only|span_and_event)$/i
const OFF = /^(false|no_content|event_only)?$/i

let toldOf = ''

/** The option, or otherwise the value of the variable. An unknown value means off, and OpenTelemetry's log receives one warning. */
export function captureOf(option: CaptureContent | undefined): CaptureContent {
  if (option !== undefined) return option
  const word = globalThis.process?.env?.[VARIABLE] ?? ''
  const isOn = ON.test(word)
  if (!isOn && !OFF.test(word) && word !== toldOf) {
    toldOf = word
    untroubled(() => diag.warn(`meanwhile: ${VARIABLE} is ${word}, which is not a valid value; no content is captured`))
  }
  return isOn
}
