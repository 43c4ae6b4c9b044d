/** Runs of the workshop’s tools with eagerTools. */

import { collect, respond, type ScriptResponse, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type Middleware, type Tool } from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { eagerTools } from '../src/index.ts'
import { workshop } from './workshop.ts'

export const done = respond(say('Done.'))

/** A run of these responses by an agent with the workshop's tools and eagerTools. */
export async function ran(
  responses: readonly ScriptResponse[],
  more: { tools?: Tool[]; middleware?: Middleware[]; grace?: number } = {},
) {
  const { log, tools, contexts } = workshop()
  const { middleware = [], ...options } = more
  const agent = createAgent({
    model: scriptedModel(responses),
    ...options,
    tools: [...tools, ...(more.tools ?? [])],
    middleware: [...middleware, eagerTools()],
  })
  const begin = performance.now()
  const collected = collect(agent.stream('Go')).then((all) => ({ ...all, took: Math.round(performance.now() - begin) }))
  return { ...(await played(collected)), log, contexts }
}
