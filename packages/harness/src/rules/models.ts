/** What families of models cannot do, or require: the one table that ages with every new model. */

/** What a family of models refuses or requires. */
export type Trait =
  | 'no-prefill'
  | 'no-sampling'
  | 'one-sampling'
  | 'no-thinking-budget'
  | 'no-adaptive-thinking'
  | 'always-thinks'
  | 'no-forced-choice'
  | 'no-max-tokens'
  | 'default-sampling'
  | 'no-stop'
  | 'no-encrypted-reasoning'
  | 'reasoning-before-calls'
  | 'no-empty-reasoning'
  | 'fixed-temperature'
  | 'thought-signature'

interface Family {
  readonly ids: RegExp
  readonly traits: readonly Trait[]
}

/** All in lower case. The first Claude 4 have a date, or nothing, in place of a second number. */
const FAMILIES: readonly Family[] = [
  { ids: /claude-(instant|[23]|(opus|sonnet)-4(-[01](?!\d)|[-@]20\d|$))/, traits: ['no-adaptive-thinking'] },
  { ids: /claude-(haiku|sonnet|opus)-4-5/, traits: ['no-adaptive-thinking', 'one-sampling'] },
  { ids: /claude-(opus|sonnet)-4-6/, traits: ['no-prefill', 'one-sampling'] },
  { ids: /claude-opus-4-[78]/, traits: ['no-prefill', 'no-sampling', 'no-thinking-budget'] },
  { ids: /claude-(opus|sonnet)-5/, traits: ['no-prefill', 'no-sampling', 'no-thinking-budget'] },
  { ids: /claude-(opus|sonnet)-5-5/, traits: ['always-thinks', 'no-forced-choice'] },
  { ids: /claude-(fable-5|mythos)/, traits: ['no-prefill', 'no-sampling', 'no-thinking-budget', 'always-thinks'] },
  { ids: /claude-fable-5-[1-9](?!\d)/, traits: ['no-forced-choice'] },
  { ids: /claude-haiku-5/, traits: ['no-prefill'] },
  { ids: /claude-haiku-5-5/, traits: ['no-sampling', 'no-thinking-budget'] },
  { ids: /(^|\/)(o\d|gpt-5(?![\d.]*-chat))/, traits: ['no-max-tokens'] },
  { ids: /(^|\/)(o\d|gpt-5(?!(\.\d)|[\d.]*-chat))/, traits: ['default-sampling'] },
  { ids: /(^|\/)(o[34]|gpt-5(?![\d.]*-chat))/, traits: ['no-stop'] },
  { ids: /(^|\/)(gpt-[34]|chatgpt|gpt-5[\d.]*-chat)/, traits: ['no-encrypted-reasoning'] },
  { ids: /kimi-(k2-thinking|thinking)|deepseek-(v4|reasoner)/, traits: ['reasoning-before-calls'] },
  { ids: /kimi-k2\.[56]/, traits: ['reasoning-before-calls', 'no-empty-reasoning', 'fixed-temperature'] },
  { ids: /kimi-(k2\.[789]|k3)/, traits: ['reasoning-before-calls', 'fixed-temperature'] },
  { ids: /gemini-[3-9]/, traits: ['thought-signature'] },
]

/** What is known of a model, by its id. Hosts write some ids with capital letters. */
export function traitsOf(model: string): ReadonlySet<Trait> {
  const id = model.toLowerCase()
  return new Set(FAMILIES.flatMap(({ ids, traits }) => (ids.test(id) ? traits : [])))
}
