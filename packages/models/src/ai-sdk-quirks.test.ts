import { mockModels } from '@meanwhile/harness'
import { type Outcome, quirkResponse, quirks } from '@meanwhile/harness/quirks'
import { afterEach, expect, test, vi } from 'vitest'
import { outcomeOf } from '../test/outcome.ts'
import { realModels } from '../test/real-models.ts'
import { aiSdk } from './ai-sdk.ts'

// The catalogue again, through the packages of the AI SDK.

afterEach(() => {
  vi.useRealTimers()
})

const forms = quirks
  // Chat has no last event, so its packages read on.
  .filter(({ wire, title }) => wire !== 'openai-chat' || !title.startsWith('a further call follows'))
  // Packages see no line outside events. On Responses the last event has the whole text.
  .filter(({ wire, title }) => wire === 'openai-responses' || !title.startsWith('an event comes without its field'))
  .flatMap((quirk) =>
    realModels
      .filter(({ wire }) => wire === quirk.wire)
      .map(({ title, model }) => ({ title, model, quirk, row: quirk.id, form: quirk.title })),
  )

type Form = (typeof forms)[number]

/**
 * The forms that a package does not pass on. All require a blank line after an event, read an event as one JSON value
 * without its name, and report no text outside events. Some throw at a first event that they do not know, or at a piece
 * of a call without a name or an id.
 */
function isLost({ title, row, form }: Form): boolean {
  const isV2 = title.endsWith('(v2)')
  if (['T5', 'T12', 'C56', isV2 ? 'T21' : 'C11'].includes(row)) return true
  if (/the whole body|^an error without the member error is|^the call has no index|^ids are numbers/.test(form))
    return true
  if (/^(a comment as data|two events) lacks? |^the (type|name) of an event is |^an error comes (in|as) /.test(form))
    return true
  if (form === 'pieces of calls are empty, after a text') return true
  if (form.startsWith('the start of the message contains a text')) return true
  if (isV2 && /^each piece of the arguments has|^the arguments have the index after|without its name$/.test(form))
    return true
  if (isV2 && /^the status of an error is (next to|http_code)/.test(form)) return true
  if (title.startsWith('OpenAI Chat')) return row === 'T13'
  return title.startsWith('Anthropic') && ['T19', 'T20'].includes(row)
}

async function outcome({ quirk, model }: Form): Promise<Outcome | undefined> {
  if (quirk.ending) vi.useFakeTimers()
  const { fetch } = mockModels({ script: [quirkResponse(quirk)] })
  const asked = outcomeOf(aiSdk(model(fetch), { idleTimeout: 1_000 }), quirk.expected)
  if (quirk.ending) await vi.advanceTimersByTimeAsync(2_000)
  return asked
}

/** Without what is the package's own: the code of an error, and the order of text and calls. */
function visible(outcome: Outcome | undefined): unknown {
  if (!outcome) return undefined
  if ('error' in outcome) return { retryable: outcome.error.retryable }
  const { parts: _, calls, ...rest } = outcome
  return { ...rest, calls: calls?.map(({ sentBack: _, ...call }) => call) }
}

test.for(forms.filter((form) => !isLost(form)))('$title: $form (q$row)', async (form) => {
  expect(visible(await outcome(form))).toEqual(visible(form.quirk.expected))
})

test.for(forms.filter(isLost))(
  '$title: the model call fails, because its package loses it: $form (q$row)',
  async (form) => {
    const failing: Form = { ...form, quirk: { ...form.quirk, expected: { error: { retryable: true } } } }
    expect(await outcome(failing)).toMatchObject({ error: {} })
  },
)
