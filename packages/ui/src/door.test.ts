import { runInNewContext } from 'node:vm'
import { expect, test, vi } from 'vitest'
import { doors, ROUTES } from '../test/doors.ts'
import { told } from '../test/told.ts'
import { AccessError } from './ai-sdk/index.ts'
import type { HandlerOptions } from './handler-options.ts'

function* generator() {}
async function* asyncGenerator() {}

/** What a function for authorization may return by a slip: none of it admits a request. */
const HOSTILE: Readonly<Record<string, unknown>> = {
  null: null,
  false: false,
  true: true,
  zero: 0,
  one: 1,
  'minus one': -1,
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  'a bigint': 0n,
  'an empty text': '',
  'a refusal as text': 'no',
  'a user as text': 'ada',
  'a symbol': Symbol('no'),
  'an empty array': [],
  'an array of users': [{ user: 'ada' }],
  'a proxied array': new Proxy([], {}),
  'an array of another realm': runInNewContext('[{ user: "ada" }]'),
  bytes: new Uint8Array([1]),
  'a function': () => ({ user: 'ada' }),
  'an asynchronous function': async () => ({ user: 'ada' }),
  'a proxied function': new Proxy(() => undefined, {}),
  'a class': Response,
  'an error': new Error('no'),
  'an error of a class': new (class Forbidden extends TypeError {})('no'),
  'an error of another realm': runInNewContext('new Error("no")'),
  'a DOM exception': new DOMException('no'),
  'an access error': new AccessError('open', null),
  'a boxed false': Object(false),
  'a boxed true': Object(true),
  'a boxed number': Object(1),
  'a boxed text': Object('no'),
  'a boxed bigint': Object(1n),
  'a boxed symbol': Object(Symbol('no')),
  'a generator': generator(),
  'an asynchronous generator': asyncGenerator(),
  'a promise of null': Promise.resolve(null),
  'a promise of false': Promise.resolve(false),
  'a promise of a promise of a text': Promise.resolve(Promise.resolve('no')),
}

/** What no `allow` may return, in addition. */
const NO_ANSWER: typeof HOSTILE = { 'an empty object': {}, 'a user': { user: 'ada' }, 'a map': new Map() }

const CASES = [
  ...Object.keys(HOSTILE).map((value) => ['open', value] as const),
  ...Object.keys({ ...HOSTILE, ...NO_ANSWER }).map((value) => ['allow', value] as const),
]

test.for(CASES)(
  'if %s returns %s, every route responds with 403, tells onError, and the thread is neither read nor written (W24, W25)',
  async ([option, value]) => {
    const returned: unknown = { ...HOSTILE, ...NO_ANSWER }[value]
    const onError = vi.fn()
    const { used, ask } = await doors({ [option]: () => returned, onError } as Partial<HandlerOptions>)
    for (const route of Object.keys(ROUTES)) {
      const response = await ask(route)
      expect([route, response.status, used]).toEqual([route, 403, []])
      const text = 'This request is not allowed.'
      expect(await told(response)).toEqual(['AccessError', text])
    }
    expect(onError.mock.calls.map(([error, request]) => [error.name, error.option, request.url])).toEqual(
      Object.values(ROUTES).map(([, path]) => ['AccessError', option, `http://chat.test${path}`]),
    )
  },
)

class Session {
  readonly user = 'ada'
}

const GOOD = {
  nothing: undefined,
  'a plain object': { user: 'ada' },
  'an empty object': {},
  'a frozen object': Object.freeze({ user: 'ada' }),
  'an object without a prototype': Object.create(null),
  'an object of another realm': runInNewContext('({ user: "ada" })'),
  'an instance of a class': new Session(),
  'a proxied object': new Proxy({ user: 'ada' }, {}),
  'a map': new Map([['user', 'ada']]),
  'a promise of an object': Promise.resolve({ user: 'ada' }),
} satisfies Record<string, unknown>

test.for(Object.keys(GOOD) as (keyof typeof GOOD)[])('if open returns %s, the request passes (W24)', async (value) => {
  const onError = vi.fn()
  const { ask } = await doors({ open: () => GOOD[value], onError } as Partial<HandlerOptions>)
  for (const route of ['chat: send', 'chat: read', 'chat: stop', 'ag-ui: run', 'ag-ui: stop']) {
    const response = await ask(route)
    await response.text()
    expect([route, response.ok]).toEqual([route, true])
  }
  expect(onError).not.toHaveBeenCalled()
})

/** Has the members of a response, and is none to `instanceof`: that of a library, or of another realm. */
const foreign = { status: 401, headers: new Headers(), body: null, [Symbol.toStringTag]: 'Response' }

test.for(['allow', 'open'] as const)('a response of %s refuses the request as it is (W24, W25)', async (option) => {
  for (const refusal of [new Response('no', { status: 401 }), Response.error(), foreign]) {
    const onError = vi.fn()
    const { used, ask } = await doors({ [option]: () => refusal, onError } as Partial<HandlerOptions>)
    for (const route of Object.keys(ROUTES)) expect(await ask(route)).toBe(refusal)
    expect([used, onError.mock.calls]).toEqual([[], []])
  }
})

test('the message of an access error says what was returned and what to return, and contains no value (W24)', () => {
  const texts = [null, 'hunter2', ['hunter2'], new Error('hunter2')].map(
    (value) => new AccessError('open', value).message,
  )
  expect(texts).toEqual(
    ['null', 'a string', 'an array', 'an object of the kind Error'].map(
      (kind) =>
        `open returned ${kind}, so the request was refused. Return the context of the run, which is an object, or undefined for none, or a Response that refuses the request.`,
    ),
  )
  expect(new AccessError('allow', true).message).toBe(
    'allow returned true, so the request was refused. Return nothing to admit a request, or a Response that refuses it.',
  )
})

test('without onError the process gets one warning, and an onError that throws changes no response (W24)', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  try {
    const open = () => null as never
    const { ask } = await doors({ open })
    for (const route of ['chat: read', 'chat: send', 'chat: stop']) expect((await ask(route)).status).toBe(403)
    expect(warn.mock.calls).toEqual([
      [expect.stringMatching(/^chatHandler: open returned null, .* pass onError to chatHandler\.$/), expect.anything()],
    ])
    const failing = await doors({
      open,
      onError: () => {
        throw new Error('the log is full')
      },
    })
    expect((await failing.ask('ag-ui: stop')).status).toBe(403)
    await vi.waitFor(() => expect(warn).toHaveBeenCalledTimes(2), { timeout: 60_000 })
    expect(warn).toHaveBeenLastCalledWith(expect.stringContaining('the log is full'), expect.anything())
  } finally {
    warn.mockRestore()
  }
})

test('what allow or open throws is thrown, and onError does not get it (W24)', async () => {
  const broken = new Error('no database')
  for (const option of ['allow', 'open'] as const) {
    const onError = vi.fn()
    const { used, ask } = await doors({ [option]: () => Promise.reject(broken), onError })
    for (const route of Object.keys(ROUTES)) await expect(ask(route)).rejects.toBe(broken)
    expect([used, onError.mock.calls]).toEqual([[], []])
  }
})
