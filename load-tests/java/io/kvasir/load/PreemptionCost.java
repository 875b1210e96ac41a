package io.kvasir.load;

import io.kvasir.load.TenantClient.Answer;
import java.util.List;

/**
 * What has been taken back at a fleet by now, and what it computed.
 *
 * @param computedTokens of the prompts that engines have admitted, but for those that they had cached
 * @param preempted requests that were taken back
 * @param tooLate requests whose answers had begun when they were to be taken back
 */
record PreemptionCost(long computedTokens, double preempted, double tooLate) {
  static PreemptionCost of(TenantFleet fleet) {
    return new PreemptionCost(
        fleet.engines().stream().mapToLong(each -> each.stats().queriedTokens() - each.stats().hitTokens()).sum(),
        preemptions(fleet, "preempted"), preemptions(fleet, "too_late"));
  }

  private static double preemptions(TenantFleet fleet, String outcome) {
    return fleet.nodes().metrics(fleet.nodes().all().getFirst())
        .lines()
        .filter(line -> line.startsWith("kvasir_admission_preemptions_total{") && line.contains(outcome))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .sum();
  }

  /** What was taken back since, what that cost, and what is booked or runs after the last answer. */
  String since(PreemptionCost before, List<Answer> answers, TenantFleet fleet) {
    long computed = computedTokens - before.computedTokens;
    long answered = answers.stream().mapToLong(each -> each.promptTokens() - each.cachedTokens()).sum();
    int left =
        Math.abs(fleet.nodes().inFlight())
            + fleet.engines().stream().mapToInt(each -> each.stats().running() + each.stats().waiting()).sum();
    return
        "taken back %.0f, too late %.0f; begun for nothing %.1f %% of the tokens of prompts; refused %d, lost %d, left"
            .formatted(
                preempted - before.preempted, tooLate - before.tooLate, 100.0 * (computed - answered) / computed,
                count(answers, TenantClient.End.REFUSED), count(answers, TenantClient.End.LOST))
            + " behind %d".formatted(left);
  }

  private static long count(List<Answer> answers, TenantClient.End end) {
    return answers.stream().filter(each -> each.end() == end).count();
  }
}
