import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { type Alert, createAlert, updateAlert } from '../../../contract/alerts.ts'
import { defaultThresholds, type Metric, usualOperator } from '../../../contract/metrics.ts'
import type { AppError } from '../../../errors.ts'
import { preview } from '../../api/client.ts'

/** The editable fields of an alert. The threshold is text while it is typed. */
export type Rule = Pick<
  Alert,
  | 'name'
  | 'description'
  | 'metric'
  | 'operator'
  | 'duration'
  | 'aggregation'
  | 'queryRange'
  | 'contactPointIds'
> & { threshold: string }

export function newRule(metric: Metric): Rule {
  return {
    name: '',
    description: '',
    metric,
    operator: usualOperator(metric),
    threshold: String(defaultThresholds[metric]),
    duration: '5m',
    aggregation: 'mean',
    queryRange: '10m',
    contactPointIds: [],
  }
}

export function ruleOf(alert: Alert): Rule {
  const { name, description, metric, operator, duration, aggregation, queryRange, contactPointIds } = alert
  const threshold = String(alert.threshold)
  return {
    name,
    description,
    metric,
    operator,
    threshold,
    duration,
    aggregation,
    queryRange,
    contactPointIds,
  }
}

/** Null while the text is not a number. */
export function thresholdOf({ threshold }: Rule): number | null {
  const number = Number(threshold)
  return threshold.trim() === '' || !Number.isFinite(number) ? null : number
}

/** The alert of a rule: a new one of an environment, or an existing one. */
export type Subject = { appEnvId: string } | { alertId: string }

interface RulePreview {
  effects: string[]
  preview: { samples: number; wouldHaveFired: { at: string; value: number }[]; noDataShare: number }
}

const quietMs = 250

/** The platform's dry run of a rule, requested shortly after the last edit. */
export function useRulePreview(subject: Subject, rule: Rule) {
  const settled = useSettled(rule)
  const threshold = thresholdOf(settled)
  // Name and description do not affect the preview.
  const { name: _name, description: _description, ...condition } = settled
  const input = { ...condition, threshold: threshold ?? 0 }
  return useQuery<RulePreview, AppError>({
    queryKey: ['preview', subject, input],
    queryFn: async () => {
      const answer =
        'alertId' in subject
          ? await preview(updateAlert, { ...subject, ...input })
          : await preview(createAlert, { ...subject, ...input, name: 'Preview' })
      return answer as unknown as RulePreview
    },
    enabled: threshold !== null,
    placeholderData: (before) => before,
    gcTime: 0,
  })
}

/** A debounced value. */
function useSettled<Value>(value: Value): Value {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), quietMs)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}
