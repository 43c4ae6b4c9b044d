// An application with OpenTelemetry's SDK 2, which accepts only API 1.9. scripts/check-packages.ts installs it with
// the packed core and runs it: every span must be recorded, ended, have the right parent, and contain no content.
import assert from 'node:assert/strict'
import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'

const exporter = new InMemorySpanExporter()
const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })

const input = {
  '~standard': {
    version: 1,
    vendor: 'none',
    validate: (value) => ({ value }),
    jsonSchema: { input: () => ({ type: 'object' }) },
  },
}
const look = tool({ name: 'look', description: 'Looks.', input, effect: 'read', execute: () => 'seen' })
const lose = tool({
  name: 'lose',
  description: 'Fails.',
  input,
  execute() {
    throw new RangeError('secret')
  },
})
const agent = createAgent({
  name: 'careful',
  model: scriptedModel([respond(call('look'), call('lose')), respond(say('Done.'))]),
  tools: [look, lose],
  middleware: [{ name: 'pass', wrapModel: (request, next) => next(request) }],
  telemetry: { tracerProvider },
})
const { text } = await agent.run('secret')
assert.equal(text, 'Done.')

const spans = exporter.getFinishedSpans()
const nameOf = new Map(spans.map((span) => [span.spanContext().spanId, span.name]))
assert.deepEqual(spans.map((span) => `${span.name} < ${nameOf.get(span.parentSpanContext?.spanId) ?? 'none'}`).sort(), [
  'chat scripted-1 < middleware pass wrapModel',
  'chat scripted-1 < middleware pass wrapModel',
  'execute_tool look < invoke_agent careful',
  'execute_tool lose < invoke_agent careful',
  'invoke_agent careful < none',
  'middleware pass wrapModel < invoke_agent careful',
  'middleware pass wrapModel < invoke_agent careful',
])
const failed = spans.find(({ name }) => name === 'execute_tool lose')
assert.equal(failed.status.code, 2)
assert.deepEqual(
  failed.links.map(({ context }) => nameOf.get(context.spanId)),
  ['chat scripted-1'],
)
assert.deepEqual(
  failed.events.map(({ attributes }) => attributes['exception.type']),
  ['RangeError'],
)
assert.ok(!JSON.stringify(spans.map(({ name, attributes, events }) => [name, attributes, events])).includes('secret'))
