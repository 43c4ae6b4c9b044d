// The questions of tools in their own words: a form for each, made from the schema of its answer. `chat-page.tsx` shows it.

import type { ChatMessage, ChatQuestion } from '@meanwhile/ui/ai-sdk'
import type { FormEvent } from 'react'

interface ChatQuestionsProps {
  readonly message: ChatMessage
  readonly onAnswer: (id: string, answer: unknown) => void
}

export function ChatQuestions({ message, onAnswer }: ChatQuestionsProps) {
  const questions = message.metadata?.questions ?? []
  return questions
    .filter((question) => !hasCard(message, question))
    .map((question) => (
      <QuestionForm key={question.id} question={question} onAnswer={(answer) => onAnswer(question.id, answer)} />
    ))
}

/** An approval has buttons on its card, and the page runs a tool without `execute` itself. */
function hasCard({ parts }: ChatMessage, { id, payload }: ChatQuestion): boolean {
  const isApproval = parts.some((part) => part.type === 'dynamic-tool' && part.approval?.id === id)
  return isApproval || Object(payload).type === 'tool-call'
}

/** The part of a JSON Schema that this form knows. */
interface Schema {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, Schema>>
}

interface QuestionFormProps {
  readonly question: ChatQuestion
  readonly onAnswer: (answer: unknown) => void
}

function QuestionForm({ question: { payload, answerSchema = {}, title }, onAnswer }: QuestionFormProps) {
  const schema = answerSchema as Schema
  const fields = Object.entries(schema.properties ?? { answer: schema })
  const answer = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const values = fields.map(([name, field]) => [name, valueIn(field, form.get(name))] as const)
    onAnswer(schema.properties ? Object.fromEntries(values) : values[0]?.[1])
  }
  const { question = JSON.stringify(payload) } = Object(payload)
  return (
    <form onSubmit={answer}>
      <p>
        {title && `${title}: `}
        {String(question)}
      </p>
      {fields.map(([name, field]) => (
        <p key={name}>
          {name} <Field name={name} schema={field} />
        </p>
      ))}
      <button type="submit">Answer</button>
    </form>
  )
}

function Field({ name, schema }: { readonly name: string; readonly schema: Schema }) {
  if (schema.type === 'boolean') return <input aria-label={name} name={name} type="checkbox" />
  if (!schema.enum)
    return <input aria-label={name} name={name} type={isNumber(schema) ? 'number' : 'text'} step="any" required />
  return (
    <select aria-label={name} name={name}>
      {schema.enum.map((choice) => (
        <option key={String(choice)}>{String(choice)}</option>
      ))}
    </select>
  )
}

function valueIn(schema: Schema, given: FormDataEntryValue | null): unknown {
  if (schema.type === 'boolean') return given !== null
  if (schema.enum) return schema.enum.find((choice) => String(choice) === given)
  return isNumber(schema) ? Number(given) : given
}

function isNumber({ type }: Schema): boolean {
  return type === 'number' || type === 'integer'
}
