/** What providers refuse: their rules as data, and a check of a request against them. */

export { HOSTS, type Host } from './rules/hosts.ts'
export type { Trait } from './rules/models.ts'
export { type Refusal, type RefusalOptions, refusals } from './rules/refusals.ts'
export type { Change, Found, Rule, Source, Sure } from './rules/rule.ts'
export { rules } from './rules/rules.ts'
export { changedBody, soundBody } from './rules/sound.ts'
