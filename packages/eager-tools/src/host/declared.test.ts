import { expect, test } from 'vitest'
import { Host } from '../../test/host.ts'
import { type DeclaredEffect, declaredEffects } from './declared.ts'
import type { EagerSettings } from './settings.ts'

test('declaring a tool as external is the same as not declaring it (R1)', () => {
  const effects = { look: 'read', send: 'external', put: undefined, mail: { effect: () => 'read' as const } } as const
  expect([...declaredEffects(effects, ['look', 'send', 'put', 'mail']).keys()]).toEqual(['look', 'mail'])
})

const compensate = () => undefined

const refused: readonly (readonly [option: string, effects: unknown, message: string])[] = [
  ['effects', undefined, "must be an object, such as { weather: 'read' }"],
  ['effects', ['look'], "must be an object, such as { weather: 'read' }"],
  ['effects.lok', { lok: 'read' }, 'is not the name of a tool; did you mean look?'],
  ['effects.xyz', { xyz: 'read' }, 'is not the name of a tool; the tools are: look, send'],
  ['effects.look', { look: 'write' }, 'write is not an effect; the effects are read, idempotent, reversible, external'],
  ['effects.look', { look: 'calls' }, 'calls is not an effect; the effects are read, idempotent, reversible, external'],
  ['effects.look', { look: null }, 'null is not an effect; the effects are read, idempotent, reversible, external'],
  ['effects.look', { look: {} }, 'undefined is not an effect; the effects are read, idempotent, reversible, external'],
  ['effects.look', { look: 'reversible' }, 'is reversible but has no compensate(input, output) to undo a call'],
  [
    'effects.look.undo',
    { look: { effect: 'reversible', undo: compensate } },
    'is not an option of an effect; did you mean compensate?',
  ],
  [
    'effects.look.compensate',
    { look: { effect: 'read', compensate } },
    'is never called: the effect is read, and only reversible calls are undone',
  ],
  ['effects.look.compensate', { look: { effect: 'idempotent', compensate } }, 'is never called'],
  ['effects.look.reads', { look: { effect: 'read', reads: ['a'] } }, 'must be a function'],
]

test.for(refused)('%s: an invalid declaration is refused (R11, A2)', ([option, effects, message]) => {
  const given = effects as Record<string, DeclaredEffect>
  expect(() => declaredEffects(given, ['look', 'send'])).toThrow(
    expect.objectContaining({ name: 'ConfigError', option, message: expect.stringContaining(message) }),
  )
})

test('if the names of the tools are unknown, any name may be declared (R11)', () => {
  expect(declaredEffects({ anything: { effect: 'reversible', compensate } }).has('anything')).toBe(true)
})

const settings: readonly (readonly [option: string, settings: unknown])[] = [
  ['polcy', { polcy: () => 'wait' }],
  ['policy', { policy: 'wait' }],
  ['independent', { independent: 'send' }],
  ['approval', { approval: true }],
  ['alwaysStream', { alwaysStream: 'yes' }],
  ['seals', { seals: 1 }],
  ['toolConcurrency', { toolConcurrency: 0 }],
  ['hold', { hold: -1 }],
  ['budget.toleranceMs', { budget: { toleranceMs: -1 } }],
  ['telemetry.tracerProvider', { telemetry: { tracerProvider: {} } }],
  ['onStep', { onStep: {} }],
  ['onWarning', { onWarning: true }],
]

test.for(settings)('an invalid %s is refused with a ConfigError that names it (R11, A2)', ([option, given]) => {
  expect(() => new Host(given as EagerSettings)).toThrow(expect.objectContaining({ name: 'ConfigError', option }))
})
