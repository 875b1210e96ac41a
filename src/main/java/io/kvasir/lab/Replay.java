package io.kvasir.lab;

import com.fasterxml.jackson.core.JsonProcessingException;
import io.kvasir.routing.Selection;
import io.kvasir.telemetry.DecisionJson;
import io.kvasir.telemetry.DecisionRecord;
import java.io.BufferedReader;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.DoubleConsumer;
import java.util.function.LongConsumer;
import java.util.zip.GZIPInputStream;

/**
 * A replay of decision logs under profiles: each decision is made once more by the production selector, over the
 * workers and the load that were recorded with it.
 *
 * <p>Depths are those of the log. What workers could take from each other's memory is in no log: a decision that went
 * by it is replayed as if they computed it. Texts such as session keys are hashed in a log, so choices by such texts
 * are replayed with the hashes.
 */
public final class Replay {
  private static final int FAULTS = 10;
  private static final int PROGRESS_LINES = 256;
  private static final long SEED = 1;

  private final List<Path> logs;
  private final List<ReplayedProfile> profiles;
  private final List<String> faults = new ArrayList<>();
  private long lines;
  private long skipped;
  private long incomplete;
  private long pulled;
  private long faulty;

  private Replay(List<Path> logs, List<ReplayedProfile> profiles) {
    this.logs = logs;
    this.profiles = profiles;
  }

  /**
   * A replay of logs under profiles.
   *
   * @param logs files as {@code decisions.path} names them, gzipped (.gz) or not
   * @param profiles built-in names, {@code all}, or files with profiles
   * @param faults receives one plain sentence for each fault; the result is then invalid
   */
  public static Replay of(List<Path> logs, List<String> profiles, List<String> faults) {
    for (Path log : logs) {
      if (!Files.isRegularFile(log) || !Files.isReadable(log)) {
        faults.add("log: " + log + " cannot be read; does it exist, and may you read it?");
      }
    }
    List<LabPlan.ProfileChoice> choices = ProfileChoices.forReplay(profiles, faults);
    return new Replay(
        List.copyOf(logs),
        faults.isEmpty() ? choices.stream().map(choice -> new ReplayedProfile(choice, SEED)).toList() : List.of());
  }

  /**
   * Runs once.
   *
   * @param progress receives the share of the work that is done, 0 to 1, from time to time
   */
  public ReplayReport run(DoubleConsumer progress) throws IOException {
    long totalBytes = 0;
    for (Path log : logs) {
      totalBytes += Files.size(log);
    }
    long before = 0;
    for (Path log : logs) {
      long already = before;
      long whole = totalBytes;
      read(log, bytes -> progress.accept(whole == 0 ? 1 : (double) (already + bytes) / whole));
      before += Files.size(log);
    }
    progress.accept(1);
    return new ReplayReport(
        lines, skipped, incomplete, pulled, faulty, List.copyOf(faults),
        profiles.stream().map(ReplayedProfile::row).toList());
  }

  /** Reads a log as far as it goes: one that is being written, or was cut, has whole lines before its end. */
  private void read(Path log, LongConsumer progress) {
    long number = 0;
    try (CountingInput raw = new CountingInput(Files.newInputStream(log));
        InputStream in = log.toString().endsWith(".gz") ? new GZIPInputStream(raw) : raw;
        BufferedReader reader = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8))) {
      for (String line = reader.readLine(); line != null; line = reader.readLine()) {
        number++;
        if (!line.isBlank()) {
          replay(log, number, line);
        }
        if (number % PROGRESS_LINES == 0) {
          progress.accept(raw.count());
        }
      }
    } catch (EOFException cut) {
      fault(log, number + 1, "the file ends within its compressed content");
    } catch (IOException unreadable) {
      fault(log, number + 1, "what follows cannot be read: " + unreadable.getMessage());
    }
  }

  private void replay(Path log, long number, String line) {
    lines++;
    try {
      DecisionRecord decision = DecisionJson.decision(line);
      if (decision == null) {
        return;
      }
      if (decision.passes().size() != 1) {
        skipped++;
        return;
      }
      for (ReplayedProfile profile : profiles) {
        profile.replay(decision);
      }
      if (decision.passes().getFirst().candidates().stream().anyMatch(each -> each.evictionLoss() == null)) {
        incomplete++;
      }
      if (decision.reason().contains(Selection.PULLED)) {
        pulled++;
      }
    } catch (JsonProcessingException malformed) {
      fault(log, number, malformed.getOriginalMessage());
    } catch (IllegalArgumentException impossible) {
      fault(log, number, String.valueOf(impossible.getMessage()));
    }
  }

  private void fault(Path log, long number, String problem) {
    faulty++;
    if (faults.size() < FAULTS) {
      faults.add(log + ":" + number + ": " + problem.lines().findFirst().orElse(""));
    }
  }
}
