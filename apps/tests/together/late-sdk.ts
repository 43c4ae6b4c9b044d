/** An application that sets up its SDK only after it has imported the packages, made an agent and run it. For tests. */

import { setTimeout } from 'node:timers/promises'
import { call, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { createAgent, runTool, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { z } from 'zod'

// Spans that begin in the same millisecond have no order.
const look = tool({
  name: 'look',
  description: 'l',
  input: z.object({}),
  effect: 'read',
  execute: () => setTimeout(20, 'seen'),
})

function agentNamed(name: string) {
  const responses = Array.from({ length: 2 }, () => [respond(wait(20), call('look')), respond(say('Done.'))])
  return createAgent({ name, model: scriptedModel(responses.flat()), tools: [look], middleware: [eagerTools()] })
}

const early = agentNamed('early')
console.log((await early.run('Without an SDK.')).text)

const { NodeSDK } = await import('@opentelemetry/sdk-node')
const sdk = new NodeSDK()
sdk.start()

console.log((await early.run('With an SDK.')).text)
console.log((await agentNamed('late').run('With an SDK.')).text)
console.log(await runTool(look, {}))
await sdk.shutdown()
