import { expect, expectTypeOf, test } from 'vitest'
import { flag, inputSchema, listOf, oneOf, optional, text, whole } from './input-schema.ts'

const schema = inputSchema({
  path: text('A path.', { minLength: 1 }),
  note: optional(text('A note.')),
  offset: optional(whole('Where.', { minimum: 1 }), 1),
  all: optional(flag('Whether.'), false),
  output: oneOf(['files', 'count'], 'What.'),
})
const { validate, jsonSchema } = schema['~standard']

test('the schema for the model contains each member, which are required, and that there are no others', () => {
  expect(jsonSchema.input({ target: 'draft-2020-12' })).toEqual({
    type: 'object',
    properties: {
      path: { type: 'string', description: 'A path.', minLength: 1 },
      note: { type: 'string', description: 'A note.' },
      offset: { type: 'integer', description: 'Where.', minimum: 1, default: 1 },
      all: { type: 'boolean', description: 'Whether.', default: false },
      output: { type: 'string', enum: ['files', 'count'], description: 'What.' },
    },
    required: ['path', 'output'],
    additionalProperties: false,
  })
})

test('a valid input is returned typed, with its fallbacks; null counts as absent', async () => {
  const result = await validate({ path: 'a', output: 'count', offset: null })
  expect(result).toEqual({ value: { path: 'a', note: undefined, offset: 1, all: false, output: 'count' } })
  if (!result.issues) {
    expectTypeOf(result.value.offset).toEqualTypeOf<number>()
    expectTypeOf(result.value.note).toEqualTypeOf<string | undefined>()
    expectTypeOf(result.value.output).toEqualTypeOf<'files' | 'count'>()
  }
})

test('each invalid member is named, and so is each unknown one', () => {
  expect(validate({ path: '', note: 1, offset: 0, all: 'yes', output: 'lines', more: 1 })).toEqual({
    issues: [
      { path: ['more'], message: 'is not a member of this input' },
      { path: ['path'], message: 'must be a text of at least 1 characters' },
      { path: ['note'], message: 'must be a text' },
      { path: ['offset'], message: 'must be a whole number of at least 1' },
      { path: ['all'], message: 'must be true or false' },
      { path: ['output'], message: 'must be one of files, count' },
    ],
  })
  expect(validate({ offset: 1.5 })).toMatchObject({
    issues: [
      { path: ['path'], message: 'is missing' },
      { path: ['offset'] },
      { path: ['output'], message: 'is missing' },
    ],
  })
})

test.each([undefined, null, 'text', 7, []])('%j is not an object', (input) => {
  expect(validate(input)).toEqual({ issues: [{ message: 'must be an object' }] })
})

test('a member of the prototype is not part of the input', () => {
  expect(validate(JSON.parse('{"path":"a","output":"count","__proto__":{"all":true}}'))).toMatchObject({
    issues: [{ path: ['__proto__'] }],
  })
  expect(validate(Object.create({ path: 'a', output: 'count' }))).toMatchObject({
    issues: [{ path: ['path'] }, { path: ['output'] }],
  })
})

test('a list contains members of one kind, and is described by theirs', async () => {
  const list = inputSchema({ ids: listOf(whole('An id.', { minimum: 1 }), 'Ids.') })['~standard']
  expect(list.jsonSchema.input({ target: 'draft-2020-12' })).toMatchObject({
    properties: {
      ids: { type: 'array', items: { type: 'integer', description: 'An id.', minimum: 1 }, description: 'Ids.' },
    },
  })
  expect(await list.validate({ ids: [1, 2] })).toEqual({ value: { ids: [1, 2] } })
  for (const ids of [1, [0], ['1'], { 0: 1, length: 1 }])
    expect(await list.validate({ ids })).toMatchObject({
      issues: [{ path: ['ids'], message: 'must be a list in which each item must be a whole number of at least 1' }],
    })
})
