package io.kvasir.app.admin;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.app.terminal.ProgressBar;
import java.time.Duration;
import java.time.Instant;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code kvasir admin workers drain}. */
@Command(
    name = "drain",
    description = "Lets a pod finish what it has and gives it nothing new.",
    mixinStandardHelpOptions = true)
final class DrainCommand extends AdminRequestCommand {
  private static final Duration BETWEEN = Duration.ofMillis(300);
  private static final Duration LONGEST = Duration.ofDays(365);

  @Parameters(paramLabel = "POD", description = "Its name.")
  private String pod = "";

  @Option(names = "--wait", description = "Wait until it has nothing left.")
  private boolean wait;

  @Option(
      names = "--timeout",
      paramLabel = "SECONDS",
      defaultValue = "3600",
      description = "How long to wait (${DEFAULT-VALUE}); the pod goes on draining after.")
  private long timeout;

  @Override
  JsonNode request(AdminClient client) throws AdminFailedException, InterruptedException {
    if (timeout < 0 || timeout > LONGEST.toSeconds()) {
      throw new AdminFailedException("--timeout has to be 0 to " + LONGEST.toSeconds() + " seconds, not " + timeout);
    }
    JsonNode state = client.post(WorkersCommand.path(pod) + "/drain", null);
    if (!wait) {
      return state;
    }
    try (ProgressBar progress = new ProgressBar()) {
      return drained(client, progress);
    }
  }

  @Override
  String format(JsonNode answer) {
    return WorkersCommand.state(answer);
  }

  private JsonNode drained(AdminClient client, ProgressBar progress)
      throws AdminFailedException, InterruptedException {
    Instant deadline = Instant.now().plusSeconds(timeout);
    boolean begun = false;
    int most = 1;
    while (true) {
      JsonNode now = client.get(WorkersCommand.path(pod));
      String state = now.path("state").asText();
      int left = now.path("in_flight").asInt();
      if (state.equals("drained")) {
        progress.end();
        return now;
      }
      if (begun && state.equals("serving")) {
        throw new AdminFailedException("'" + pod + "' was put into service again; it is not drained");
      }
      if (Instant.now().isAfter(deadline)) {
        throw new AdminFailedException(
            "'%s' still has %d requests after %d s, and goes on draining".formatted(pod, left, timeout));
      }
      begun |= state.equals("draining");
      most = Math.max(most, left);
      progress.draw((most - left) / (double) most);
      Thread.sleep(BETWEEN);
    }
  }
}
