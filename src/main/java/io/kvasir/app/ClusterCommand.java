package io.kvasir.app;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.gateway.admin.FleetHandler;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code kvasir cluster}. */
@Command(
    name = "cluster",
    description = "Looks at a running cluster.",
    synopsisSubcommandLabel = "COMMAND",
    mixinStandardHelpOptions = true,
    subcommands = ClusterCommand.Status.class)
final class ClusterCommand implements Runnable {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public void run() {
    spec.commandLine().usage(System.out);
  }

  /** {@code kvasir cluster status}. */
  @Command(
      name = "status",
      description = "Prints nodes, cells and workers. Any node answers for all.",
      mixinStandardHelpOptions = true,
      showDefaultValues = true)
  static final class Status implements Callable<Integer> {
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    @Option(
        names = "--management",
        paramLabel = "URL",
        defaultValue = "http://127.0.0.1:7626",
        description = "Where a node's management listens.")
    private String management = "";

    @Override
    public Integer call() throws StartException, InterruptedException {
      System.out.print(ClusterTables.of(status(uri())));
      return 0;
    }

    private URI uri() throws StartException {
      try {
        URI uri = URI.create(management);
        if (uri.getHost() != null && uri.getScheme().startsWith("http")) {
          return uri.resolve(FleetHandler.CLUSTER);
        }
      } catch (IllegalArgumentException malformed) {
        // Told below, like every other address that is none.
      }
      throw new StartException("--management has to be an address such as http://10.0.0.5:7626, not " + management);
    }

    private JsonNode status(URI uri) throws StartException, InterruptedException {
      HttpRequest request = HttpRequest.newBuilder(uri).timeout(PATIENCE).build();
      try (HttpClient http = HttpClient.newBuilder().connectTimeout(PATIENCE).build()) {
        HttpResponse<String> answer = http.send(request, BodyHandlers.ofString());
        JsonNode status = new ObjectMapper().readTree(answer.body());
        if (answer.statusCode() == 200 && status.path("nodes").isArray()) {
          return status;
        }
        throw noRouter(uri, "it answers " + answer.statusCode(), null);
      } catch (JsonProcessingException other) {
        throw noRouter(uri, "its answer is no JSON", other);
      } catch (IOException nobody) {
        throw new StartException(
            "nothing answers at " + management + "; is a router running there, and is kvasir.management.host an address"
                + " that is reached from here? Name another node with --management",
            nobody);
      }
    }

    private static StartException noRouter(URI uri, String why, @Nullable Exception cause) {
      String message =
          "what answers at " + uri + " is no Kvasir router's management (" + why
              + "); the port is kvasir.management.port, 7626 unless set, and not the gateway's";
      return cause == null ? new StartException(message) : new StartException(message, cause);
    }
  }
}
