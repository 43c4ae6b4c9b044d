import { useState } from 'react'
import { earlyTools } from './kept.ts'

/** `isDemo`: a script plays the model. */
export function Header({ isDemo }: { readonly isDemo: boolean }) {
  const [isOn, setOn] = useState(earlyTools.isOn)
  const turn = (on: boolean) => {
    earlyTools.set(on)
    setOn(on)
  }
  return (
    <header>
      <h1>Meanwhile</h1>
      <label>
        <input
          type="checkbox"
          role="switch"
          aria-checked={isOn}
          checked={isOn}
          onChange={(event) => turn(event.target.checked)}
        />
        Early tools
        <span aria-hidden="true">{isOn ? 'on' : 'off'}</span>
      </label>
      <a href="/">New chat</a>
      {isDemo && (
        <p>
          A script plays the model: no <code>OPENAI_API_KEY</code> is set.
        </p>
      )}
    </header>
  )
}
