package io.kvasir.app.command;

import io.kvasir.app.node.StartException;
import io.kvasir.app.terminal.ProgressBar;
import io.kvasir.lab.Replay;
import io.kvasir.lab.ReplayReport;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code kvasir replay}. */
@Command(
    name = "replay",
    description = {
      "Repeats the decisions of a log under other profiles, and tells how many would change, and why.",
      "The log is written by kvasir serve with decisions.path and decisions.sample set."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false,
    usageHelpWidth = 110,
    footer = {
      "",
      "A change is a decision for another worker, unless the profile scores both alike and they had as many requests",
      "in flight: such ties are broken at random. Session keys are hashes in a log, and are replayed as such.",
      "Decisions for several workers, as of prefill and decode apart, are left out: kvasir lab has fleets of these.",
      "",
      "For example:",
      "  kvasir replay decisions.jsonl --profile expected-cost,prefix-aware,my-profiles.conf"
    })
public final class ReplayCommand implements Callable<Integer> {
  @Parameters(paramLabel = "LOG", arity = "1..*", description = "Logs, gzipped (.gz) or not, oldest first.")
  private List<Path> logs = List.of();

  @Option(
      names = "--profile",
      required = true,
      split = ",",
      paramLabel = "NAME|FILE",
      description = "Built-in profiles by name, all for every one of them, or a .conf file of your own.")
  private List<String> profiles = List.of();

  @Option(
      names = "--json",
      paramLabel = "OUT",
      description = "Where to write the same as JSON, with the first 1,000 changes of each profile.")
  private @Nullable Path json;

  @Override
  public Integer call() throws StartException {
    List<String> faults = new ArrayList<>();
    Replay replay = Replay.of(logs, profiles, faults);
    if (!faults.isEmpty()) {
      throw new StartException("the log cannot be replayed:\n  " + String.join("\n  ", faults));
    }
    ReplayReport report;
    try (ProgressBar progress = new ProgressBar()) {
      report = replay.run(progress::draw);
      progress.end();
    } catch (IOException unreadable) {
      throw new StartException("the log cannot be read: " + unreadable.getMessage(), unreadable);
    }
    if (!report.isEmpty()) {
      System.out.print(report.table());
    }
    System.out.printf(
        "%d lines; %d decisions left out: of several passes, as of prefill and decode apart, or without candidates%n",
        report.lines(), report.skipped());
    if (report.incomplete() > 0) {
      System.err.printf(
          "%d decisions were recorded by an earlier version, without what workers lose by eviction and what engines"
              + " report (eviction_loss, waiting, kv_use): profiles that go by these, as expected-cost does, would have"
              + " decided otherwise than is shown here%n",
          report.incomplete());
    }
    if (report.pulled() > 0) {
      System.err.printf(
          "%d decisions sent a request to a worker that took blocks from another one's memory: what workers can take is"
              + " not recorded, so it is computed here, and others may seem better than they were%n",
          report.pulled());
    }
    if (report.faulty() > 0) {
      System.err.printf("%d lines could not be read:%n", report.faulty());
      report.faults().forEach(fault -> System.err.println("  " + fault));
    }
    if (json != null) {
      try {
        report.write(json);
      } catch (IOException unwritable) {
        throw new StartException(
            "the report cannot be written to " + json + ": " + unwritable.getMessage(), unwritable);
      }
    }
    if (report.isEmpty()) {
      throw new StartException("there is no decision in the log that can be replayed");
    }
    return 0;
  }
}
