/** Attributes that spans and metrics share, and how a span gets its later ones. */

import type { Attributes, Span } from '@opentelemetry/api'
import type { Model } from '../model.ts'
import * as names from './semconv.ts'
import { untroubled } from './untroubled.ts'

/** Built only for a span that records them; one that is `undefined` is none, as the API has it. */
export function set(span: Span, attributes: () => Attributes): void {
  if (span.isRecording()) untroubled(() => span.setAttributes(attributes()))
}

/** Without those that have no value. */
export function present(attributes: Attributes): Attributes {
  const some: Attributes = {}
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) some[name] = value
  return some
}

/** Of an attempt: what is asked, and where. */
export function attemptAttributes({ provider, id, server }: Model): Attributes {
  return {
    [names.OPERATION]: names.CHAT,
    [names.PROVIDER]: provider,
    [names.REQUEST_MODEL]: id,
    [names.SERVER_ADDRESS]: server?.address,
    [names.SERVER_PORT]: server?.port,
  }
}

/** `tool`: absent if there is no such tool; the word is the model's, and so content. */
export function toolAttributes(tool: string | undefined, agent: string | undefined): Attributes {
  return {
    [names.TOOL_NAME]: tool ?? names.OTHER,
    [names.AGENT_NAME]: agent,
  }
}
