/** Describes the result of a stream in the terms of the quirk catalogue. */

import type { AssistantMessage, Model } from '@meanwhile/core'
import { ModelError } from '@meanwhile/core'
import type { Answered, ExpectedCall, Failed, Outcome } from '@meanwhile/harness/quirks'
import { ask, failureOf } from './ask.ts'

/** The members of the message for which the quirk has an expectation. */
export function answered(message: AssistantMessage, expected: Answered): Answered {
  const usage = expected.usage && message.usage
  return {
    ...said(message, expected.calls),
    finishReason: message.finishReason,
    ...(usage && { usage }),
    ...(expected.parts && { parts: message.content.map(({ type }) => (type === 'tool-call' ? 'call' : type)) }),
  }
}

/** The members of the error and of its partial message for which the quirk has an expectation. */
export function failed(error: ModelError, expected: Failed): Failed {
  const { code, status, retryable, partial } = error
  const { text, calls } = partial ? said(partial, expected.calls ?? []) : { text: undefined, calls: [] }
  return {
    error: {
      ...(expected.error.code !== undefined && { code }),
      ...(expected.error.status !== undefined && status !== undefined && { status }),
      retryable,
    },
    ...(text !== undefined && { text }),
    ...(expected.calls && { calls }),
  }
}

/** The result of calling the model, with as much detail as is expected. */
export async function outcomeOf(model: Model, expected: Outcome): Promise<Outcome | undefined> {
  if ('error' in expected) {
    const failure = await failureOf(ask(model))
    return failure instanceof ModelError ? failed(failure, expected) : undefined
  }
  return answered((await ask(model)).message, expected)
}

function said({ content }: AssistantMessage, expected: readonly ExpectedCall[]) {
  const textOf = (type: 'text' | 'reasoning') => content.map((part) => (part.type === type ? part.text : '')).join('')
  const text = textOf('text')
  const reasoning = textOf('reasoning')
  // The calls that are not run by the provider.
  const calls = content.filter((part) => part.type === 'tool-call').filter((call) => call.providerResult === undefined)
  return {
    ...(text !== '' && { text }),
    ...(reasoning !== '' && { reasoning }),
    calls: calls.map(
      ({ id, name, input, inputError }, i): ExpectedCall => ({
        ...((expected[i]?.id !== undefined || id === '') && { id }),
        name,
        ...(inputError === undefined ? { input } : { invalid: true }),
      }),
    ),
  }
}
