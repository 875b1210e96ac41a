package io.kvasir.app.admin;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.gateway.admin.KeyJson;
import io.kvasir.gateway.admin.KeysAdmin.KeyResult;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** A command about clients' keys, of a running router or of a file. */
abstract class KeyCommand implements Callable<Integer> {
  /** The path of all keys. */
  static final String PATH = "/admin/keys";

  @Mixin private AdminOptions options = new AdminOptions();

  @Option(
      names = "--file",
      paramLabel = "FILE",
      description = "A file of keys (kvasir.access.keys-file) instead of a router.")
  private @Nullable Path file;

  @Override
  public final Integer call() throws AdminFailedException, InterruptedException {
    JsonNode answer = file == null ? overApi() : inFile(file);
    System.out.print(options.json() ? answer.toPrettyString() + "\n" : format(answer));
    for (JsonNode warning : answer.path("warnings")) {
      System.err.println("kvasir: " + warning.asText());
    }
    return 0;
  }

  /** Sends the command's request to a router. */
  abstract JsonNode request(AdminClient client) throws AdminFailedException, InterruptedException;

  /** Does the same to a file; the answer is the router's to such a request. */
  abstract JsonNode edit(KeysFile keys) throws AdminFailedException;

  /** The answer for people, with its line's end. */
  abstract String format(JsonNode answer);

  /** The path of a key. */
  static String path(String id) {
    return PATH + "/" + AdminClient.encoded(id);
  }

  /** A key's new text in the router's answer, and how to use it. */
  static String secret(JsonNode answer) {
    String secret = answer.path("secret").asText();
    return """
        %s
        This is shown once, and kept nowhere. Try it at the gateway:
          curl http://localhost:8080/v1/models -H "Authorization: Bearer %s"
        """.formatted(secret, secret);
  }

  /** A router's answer to a change. */
  static JsonNode answered(KeyResult result) throws AdminFailedException {
    return switch (result) {
      case KeyResult.Done done -> KeyJson.change(done, Instant.now());
      case KeyResult.Unknown _ -> throw new AdminFailedException("there is no key of that id in the file");
      case KeyResult.Invalid invalid ->
          throw new AdminFailedException(
              "the key is not written: "
                  + invalid.faults().stream()
                      .map(fault -> fault.field() + " " + fault.message())
                      .collect(Collectors.joining("; ")));
      case KeyResult.Conflicting(String why) -> throw new AdminFailedException(why);
      case KeyResult.Unavailable(String why) -> throw new AdminFailedException(why);
    };
  }

  private JsonNode overApi() throws AdminFailedException, InterruptedException {
    try (AdminClient client = options.client()) {
      return request(client);
    }
  }

  private JsonNode inFile(Path edited) throws AdminFailedException {
    try {
      return edit(new KeysFile(edited, InstantSource.system()));
    } catch (UneditableException cannot) {
      throw new AdminFailedException(String.valueOf(cannot.getMessage()), cannot);
    }
  }
}
