/**
 * A model over Chat Completions that speaks at a steady speed. A first response has 20 words and three calls of the tool `look`, the next one only words.
 * Each word is the time at which it was sent. Its arguments are words per second, and words of the second response. It answers with its port.
 */

import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { stamp } from './stamps.ts'

const FIRST_WORDS = 20

/** The responses speak by turns, so that not all words are sent at the same moment. */
const TURNS = 4

const [, , wordsPerSecond = '', words = ''] = process.argv
const speaking = Array.from({ length: TURNS }, () => new Set<() => boolean>())
let responses = 0
let turn = 0

const server = createServer((request, response) => {
  let body = ''
  request.setEncoding('utf8').on('data', (text: string) => (body += text))
  request.on('end', () => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    // A conversation that ends with a result of the tool gets the second response.
    const isSecond = body.startsWith('"role":"tool"', body.lastIndexOf('"role":'))
    const number = ++responses
    speaking[number % TURNS]?.add(spoken(response, isSecond ? answer(Number(words)) : question(number)))
  })
})

setInterval(
  () => {
    turn = (turn + 1) % TURNS
    for (const speak of speaking[turn] ?? []) if (speak()) speaking[turn]?.delete(speak)
  },
  1_000 / Number(wordsPerSecond) / TURNS,
)

server.listen(0, '127.0.0.1')
const listening = once(server, 'listening')
process.on('message', () => {
  void listening.then(() => process.send?.({ port: (server.address() as AddressInfo).port }))
})
process.on('disconnect', () => process.exit())

/** Returns a function that sends the next part, and returns whether that was the last. */
function spoken(response: ServerResponse, parts: Iterator<string, string>): () => boolean {
  return () => {
    const { value, done = false } = parts.next()
    if (response.destroyed) return true
    if (done) response.end(value)
    else response.write(value)
    return done
  }
}

function* question(number: number): Generator<string, string> {
  for (let n = 0; n < FIRST_WORDS; n++) yield word()
  for (let index = 0; index < 3; index++) {
    const call = { index, id: `call_${number}_${index}`, type: 'function', function: { name: 'look', arguments: '' } }
    yield chunk({ tool_calls: [call] })
    const text = JSON.stringify({ city: `Paris ${index}`, day: 'today', unit: 'celsius' })
    for (const [piece] of text.matchAll(/.{1,6}/g))
      yield chunk({ tool_calls: [{ index, function: { arguments: piece } }] })
  }
  return end('tool_calls')
}

function* answer(count: number): Generator<string, string> {
  for (let n = 0; n < count; n++) yield word()
  return end('stop')
}

function word(): string {
  return chunk({ role: 'assistant', content: stamp() })
}

function chunk(delta: object, finish: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }]
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices })}\n\n`
}

function end(reason: string): string {
  const usage = { prompt_tokens: 100, completion_tokens: 200, total_tokens: 300 }
  const last = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage }
  return `${chunk({}, reason)}data: ${JSON.stringify(last)}\n\ndata: [DONE]\n\n`
}
