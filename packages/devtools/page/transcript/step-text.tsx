/** One step: what the model wrote, and the input and the output of each call. */

import { sentenceOf } from '../../src/geometry/sentences.ts'
import { count, counted, duration } from '../../src/geometry/words.ts'
import type { Call, Request, Response, Run, Step } from '../../src/model/run.ts'
import { barOfCall, barOfResponse } from '../selection.ts'
import { Ticked } from '../ticked.tsx'
import { effectOf } from '../timeline/bar-props.ts'
import { visible } from '../visible.ts'
import { RawSpan } from './raw-span.tsx'
import { Json, Text } from './text.tsx'

export interface StepTextProps {
  readonly run: Run
  readonly step: Step
  readonly now: number
  readonly selected: string | undefined
  readonly onSelect: (at: string) => void
}

export function StepText(props: StepTextProps) {
  const { step } = props
  return (
    <section class="step" aria-label={`Step ${step.index}`}>
      {step.responses.map((response, nth) => (
        <ResponseCard key={response.spanId} response={response} nth={nth} {...props} />
      ))}
      {step.calls.map((call) => (
        <CallCard key={call.key} call={call} {...props} />
      ))}
      {step.waiting?.map((request) => (
        <WaitingCard key={request.id} request={request} />
      ))}
    </section>
  )
}

function ResponseCard({
  run,
  step,
  response,
  nth,
  now,
  selected,
  onSelect,
}: StepTextProps & { readonly response: Response; readonly nth: number }) {
  const { spanId, start, end, usage, thinking, text, error } = response
  const bar = barOfResponse(response)
  const isSelected = selected === bar
  return (
    <article class={isSelected ? 'card response selected' : 'card response'} data-card={bar}>
      <h3>
        <button type="button" class="opener" aria-expanded={isSelected} onClick={() => onSelect(bar)}>
          Step {step.index}
          {step.responses.length > 1 && `, attempt ${nth + 1}`}
        </button>
        <span>
          {duration((end ?? now) - start)} · {count(usage.output)} tokens
        </span>
      </h3>
      {thinking !== undefined && (
        <div class="thinking">
          <Text text={thinking} />
        </div>
      )}
      {text !== undefined && <Text text={text} />}
      {error !== undefined && <p class="bad">{visible(error)}</p>}
      {isSelected && <RawSpan traceId={run.key.slice(0, 32)} spanId={spanId} />}
    </article>
  )
}

function CallCard({ call, ...props }: StepTextProps & { readonly call: Call }) {
  const { run, step, now, selected, onSelect } = props
  const { tool, effect, start, end, input, output, error, fate, inner, executions } = call
  const bar = barOfCall(call)
  const isSelected = selected === bar
  const last = executions.at(-1)
  return (
    <article class={`card call ${effectOf(call)} ${fate}${isSelected ? ' selected' : ''}`} data-card={bar}>
      <h3>
        <button type="button" class="opener" aria-expanded={isSelected} onClick={() => onSelect(bar)}>
          <code>{visible(tool)}</code>
        </button>
        {effect !== undefined && <span class="effect">{visible(effect)}</span>}
        <span>{duration((end ?? now) - start)}</span>
      </h3>
      <p class="why">
        <Ticked sentence={sentenceOf(call, step, run.dialect, now)} />
      </p>
      {input !== undefined && <Json value={input} open={isSelected} />}
      {output !== undefined && <Json value={output} open={isSelected} result />}
      {executions.length > 1 &&
        executions.slice(0, -1).map(
          (execution) =>
            execution.error !== undefined && (
              <p key={execution.spanId} class="bad">
                attempt {execution.attempt}: {visible(execution.error)}
              </p>
            ),
        )}
      {error !== undefined && <p class="bad">{visible(error)}</p>}
      {inner.map((agent) => (
        <details key={agent.key}>
          <summary>
            {visible(agent.agent ?? 'agent')}: {counted(agent.steps.length, 'step')}, {counted(agent.calls, 'call')}
          </summary>
          {agent.steps.map((one) => (
            <StepText key={one.index} {...props} run={agent} step={one} />
          ))}
        </details>
      ))}
      {isSelected && last && <RawSpan traceId={run.key.slice(0, 32)} spanId={last.spanId} />}
    </article>
  )
}

function WaitingCard({ request: { tool, input } }: { readonly request: Request }) {
  return (
    <article class="card call waiting">
      <h3>
        <code>{visible(tool)}</code>
      </h3>
      <p class="why">It has not run: the run waits for an answer.</p>
      {input !== undefined && <Json value={input} open />}
    </article>
  )
}
