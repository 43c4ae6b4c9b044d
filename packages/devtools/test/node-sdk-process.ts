/** A program that is set up by environment variables only. It makes one run. */

import { context, trace } from '@opentelemetry/api'
import { NodeSDK } from '@opentelemetry/sdk-node'

const sdk = new NodeSDK()
sdk.start()
const tracer = trace.getTracer('gen_ai')
const start = 1_790_000_000_000
const run = tracer.startSpan('invoke_agent trip', {
  startTime: start,
  attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'trip' },
})
const inside = trace.setSpan(context.active(), run)
const response = tracer.startSpan(
  'chat mock',
  {
    startTime: start + 7,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'mock',
      'gen_ai.client.operation.time_to_first_chunk': 0.294,
      'gen_ai.response.finish_reasons': ['tool-calls'],
      'gen_ai.usage.input_tokens': 812,
      'gen_ai.usage.output_tokens': 64,
    },
  },
  inside,
)
response.end(start + 1_352.25)
const call = tracer.startSpan(
  'execute_tool hotels',
  {
    startTime: start + 1_358,
    attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'hotels', 'gen_ai.tool.call.id': 'c1' },
  },
  inside,
)
call.recordException(new Error('no rooms'), start + 1_600)
call.setStatus({ code: 2, message: 'no rooms' })
call.end(start + 1_668.5)
run.end(start + 2_660)
await sdk.shutdown()
