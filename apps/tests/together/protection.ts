/** What each protection does with each event of a run: the table of docs/guards.md, which `protection.test.ts` tries cell by cell. */

import type { AgentEvent } from '@meanwhile/core'

/** What an event may carry. `limit`: which option bounds it; `always`: only its beginning is shown. `spans`: whether spans have it if content is captured. */
export const CONTENT = {
  user: { is: 'a user message', limit: 'none', spans: true },
  text: { is: 'text', limit: 'none', spans: true },
  reasoning: { is: 'reasoning', limit: 'none', spans: true },
  input: { is: 'the input of a call', limit: 'inputLimits', spans: true },
  answer: { is: 'the input that is the answer', limit: 'inputLimits', spans: true },
  result: { is: 'a result', limit: 'outputLimits', spans: true },
  background: { is: 'a result of background work', limit: 'outputLimits', spans: true },
  progress: { is: 'progress', limit: 'outputLimits', spans: false },
  custom: { is: 'the data of a custom event', limit: 'outputLimits', spans: false },
  question: { is: 'a question', limit: 'outputLimits', spans: false },
  feedback: { is: 'the rejection of an answer', limit: 'none', spans: true },
  warning: { is: 'a warning', limit: 'none', spans: false },
  error: { is: 'an error of a model', limit: 'always', spans: true },
} as const satisfies Readonly<
  Record<
    string,
    { readonly is: string; readonly limit: 'none' | 'always' | 'inputLimits' | 'outputLimits'; readonly spans: boolean }
  >
>

export type Content = keyof typeof CONTENT

/** How far one kind of content is masked: by `redact()`, only by `redact({ persist: true })`, or never. */
export type Masks = 'redact' | 'persist' | 'never'

/** `held`: whether the event waits for the check of a guard with `hold`. `own`: in an event of the run. `inside`: in one of a run inside a call. */
export interface Row {
  readonly held: boolean
  readonly own: Readonly<Partial<Record<Content, Masks>>>
  readonly inside: Readonly<Partial<Record<Content, Masks>>>
}

const NOTHING = { own: {}, inside: {} } as const

/** A run inside is masked by the outer `redact({ persist: true })`, or by a `redact` of its own agent. */
function same(own: Row['own']): Pick<Row, 'own' | 'inside'> {
  const inside = Object.entries(own).map(([content, masks]) => [content, masks === 'never' ? 'never' : 'persist'])
  return { own, inside: Object.fromEntries(inside) as Row['inside'] }
}

/** What the messages of a run inside are masked with: all of it, as nothing there needs the input of a call any more. */
const HISTORY_INSIDE = {
  text: 'persist',
  reasoning: 'persist',
  input: 'persist',
  answer: 'persist',
  result: 'persist',
  background: 'persist',
  feedback: 'persist',
} as const

const MESSAGES = {
  own: {
    text: 'redact',
    reasoning: 'redact',
    input: 'never',
    answer: 'redact',
    result: 'persist',
    background: 'persist',
    feedback: 'persist',
  },
  inside: HISTORY_INSIDE,
} as const

/** A new type of events does not compile without its row. `held` is that of a model call and of the calls that it requests: what hooks emit is shown at once. */
export const PROTECTION = {
  'run-start': { held: false, ...NOTHING },
  'run-end': {
    held: true,
    own: { ...MESSAGES.own, user: 'persist', input: 'persist', question: 'never', warning: 'persist' },
    inside: { ...HISTORY_INSIDE, user: 'persist', question: 'persist', warning: 'persist' },
  },
  'step-start': { held: false, ...NOTHING },
  message: { held: true, ...MESSAGES },
  'history-replaced': {
    held: false,
    own: { ...MESSAGES.own, user: 'persist', input: 'persist' },
    inside: { ...HISTORY_INSIDE, user: 'persist' },
  },
  'step-end': { held: true, ...MESSAGES },
  'attempt-start': { held: false, ...NOTHING },
  // Core tells it when the next attempt begins.
  'attempt-failed': { held: false, ...same({ error: 'never' }) },
  'attempt-cancelled': { held: false, ...NOTHING },
  'text-delta': { held: true, ...same({ text: 'redact' }) },
  'reasoning-delta': { held: true, ...same({ reasoning: 'redact' }) },
  'tool-input-start': { held: true, ...NOTHING },
  'tool-input-delta': { held: true, ...same({ input: 'never', answer: 'redact' }) },
  'tool-input-ready': { held: true, ...same({ input: 'never' }) },
  'tool-input-closed': { held: true, ...same({ input: 'never', answer: 'redact' }) },
  'tool-call': { held: true, ...same({ input: 'never', answer: 'redact' }) },
  'tool-start': { held: true, ...same({ input: 'never' }) },
  'tool-entered': { held: true, ...NOTHING },
  'tool-progress': { held: true, ...same({ progress: 'persist' }) },
  'tool-settled': { held: true, ...same({ result: 'persist' }) },
  'tool-committed': { held: true, ...NOTHING },
  'tool-discarded': { held: true, ...NOTHING },
  'tool-end': { held: true, ...same({ answer: 'redact', result: 'persist' }) },
  'background-end': { held: true, ...same({ background: 'persist' }) },
  // Told only by the outermost run.
  question: { held: true, own: { question: 'persist' }, inside: {} },
  'answer-rejected': { held: true, ...same({ feedback: 'persist' }) },
  warning: { held: false, ...same({ warning: 'persist' }) },
  custom: { held: true, ...same({ custom: 'never' }) },
} as const satisfies Record<AgentEvent['type'], Row>
