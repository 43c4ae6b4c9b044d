/** All rules, by subject. */

import type { WireName } from '../wires/wire-name.ts'
import { cache } from './cache.ts'
import { choices } from './choices.ts'
import { compiledSchemas } from './compiled-schemas.ts'
import { content } from './content.ts'
import { files } from './files.ts'
import { ids } from './ids.ts'
import { limits } from './limits.ts'
import { unknownMembers } from './members.ts'
import { messagesOrder } from './messages-order.ts'
import { order } from './order.ts'
import { reasoning } from './reasoning.ts'
import type { Rule } from './rule.ts'
import { schemas } from './schemas.ts'
import { settings } from './settings.ts'
import { strictSchemas } from './strict-schemas.ts'
import { wholeBody } from './whole-body.ts'

const WIRES: ReadonlyMap<string, WireName> = new Map([
  ['chat', 'openai-chat'],
  ['responses', 'openai-responses'],
  ['messages', 'anthropic'],
])

/** The reasons for which providers refuse requests. A request that breaks several is refused for the first. */
export const rules: readonly Rule[] = [
  ...wholeBody,
  ...unknownMembers,
  ...order,
  ...messagesOrder,
  ...ids,
  ...content,
  ...files,
  ...reasoning,
  ...choices,
  ...limits,
  ...settings,
  ...cache,
  ...schemas,
  ...strictSchemas,
  ...compiledSchemas,
].map((data) => {
  const wire = WIRES.get(data.id.split('/', 1)[0] ?? '')
  return wire === undefined ? data : { ...data, wire }
})
