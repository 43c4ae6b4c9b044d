/** The options of telemetry, checked, and what the environment says where they do not. */

import { diag } from '@opentelemetry/api'
import { ConfigError } from '../vocabulary/errors.ts'
import { checkOptions, checkRecord, type OptionNames } from '../vocabulary/option-checks.ts'
import type { CaptureContent } from '../vocabulary/span-content.ts'
import type { TelemetryOptions } from '../vocabulary/telemetry-options.ts'
import { untroubled } from './untroubled.ts'

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
  if (typeof attributes !== 'function') checkRecord('telemetry.attributes', attributes)
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
