package io.kvasir.app.admin;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.concurrent.Callable;
import picocli.CommandLine.Mixin;

/** A command that sends one request to a router and prints the answer, for people or as JSON. */
abstract class AdminRequestCommand implements Callable<Integer> {
  @Mixin private AdminOptions options = new AdminOptions();

  @Override
  public final Integer call() throws AdminFailedException, InterruptedException {
    try (AdminClient client = options.client()) {
      JsonNode answer = request(client);
      System.out.print(options.json() ? answer.toPrettyString() + "\n" : format(answer));
    }
    return 0;
  }

  /** Sends the command's requests; returns the answer to the last one. */
  abstract JsonNode request(AdminClient client) throws AdminFailedException, InterruptedException;

  /** The answer for people, with its line's end. */
  abstract String format(JsonNode answer);
}
