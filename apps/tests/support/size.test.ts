import { expect, test } from 'vitest'
import { byTurns, everyNth, ofEachKind, sized, spaced } from './size.ts'

test('in small runs the first case of each kind stays, in middle runs the last, in whole runs all', () => {
  const cases = ['a0', 'a1', 'b2', 'a3', 'c4']
  const picked = ofEachKind(cases, (name) => name.slice(0, 1))
  expect(picked.toSorted()).toHaveLength(sized({ small: 3, middle: 3, whole: 5 }))
  expect(picked).toContain(sized({ small: 0, middle: 1, whole: 0 }) === 0 ? 'a0' : 'a3')
  expect(picked).toEqual(expect.arrayContaining(['b2', 'c4']))
})

test('by turns the cases use all values, as many each as it says', () => {
  const taken = [0, 1, 2, 3].map((place) => byTurns(['a', 'b', 'c'], { small: 2, middle: 2, whole: 2 }, place).join(''))
  expect(taken).toEqual(['ab', 'bc', 'ca', 'ab'])
})

test('cases that take every second value use all values by turns', () => {
  const taken = [0, 1, 2].map((place) => spaced(['a', 'b', 'c'], { small: 2, middle: 2, whole: 2 }, place).join(''))
  expect(taken).toEqual(['ac', 'b', 'ac'])
})

test('a small run takes every third case of a catalogue that other tests read', () => {
  expect(everyNth(['a', 'b', 'c', 'd'], 3)).toHaveLength(sized({ small: 2, middle: 4, whole: 4 }))
})
