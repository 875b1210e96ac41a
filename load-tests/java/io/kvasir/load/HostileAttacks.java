package io.kvasir.load;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.util.Arrays;
import java.util.List;
import java.util.zip.GZIPOutputStream;

/** What strangers send. Each attack is bounded in time; its finding is whether the router held. */
final class HostileAttacks {
  private static final String CHATS = "/v1/chat/completions";
  private static final int MIB = 1 << 20;

  private HostileAttacks() {}

  /**
   * An attack.
   *
   * @param sent what it sends, in words
   */
  record Attack(String name, String sent, Script script) {}

  /** What an attack does. */
  @FunctionalInterface
  interface Script {
    /** Attacks, and gives what is wrong with the router afterwards; empty when nothing is. */
    String run(HostileFleet fleet, HostileClient client) throws IOException, InterruptedException;
  }

  /** All of them. */
  static List<Attack> all() {
    return List.of(
        template("template-quadratic", "{{ ('<'*60000)|striptags }}"),
        template("template-memory", "{{ (' a'*30000000).split()|length }}"),
        template("template-search",
            "{{ ('a'*200000).find('a'*100000 ~ 'b') }}{{ ('ab'*100000).replace('b','bb'*99) }}"),
        template("template-names", "{{ x|" + "a.".repeat(400_000) + "a }}"),
        new Attack("template-depth", "a streamed template of 45 parentheses of 200 [:], then an ordinary request",
            HostileAttacks::deepTemplate),
        new Attack("announced", "6,000 announced bodies of 10 MB, one byte each", HostileAttacks::announced),
        new Attack("arrays", "2 bodies of 32 MB of [[],[],…", (fleet, client) ->
            bodies(client, 2, "{\"model\":\"kvasir-demo\",\"messages\":[", "[],", "[]]}")),
        new Attack("objects", "4 bodies of 32 MB of {\"messages\":[{},{},…", (fleet, client) ->
            bodies(client, 4, "{\"model\":\"kvasir-demo\",\"messages\":[", "{},", "{}]}")),
        new Attack("large", "20 chats of 31 MB at once", (fleet, client) -> bodies(
            client, 20, "{\"model\":\"kvasir-demo\",\"messages\":[{\"role\":\"user\",\"content\":\"",
            "the quick brown fox ", "\"}]}")),
        new Attack("segments", "a body of 1 MB in segments of one byte, on 8 connections", HostileAttacks::segments),
        new Attack("heads", "4 heads at one byte a millisecond", HostileAttacks::slowHeads),
        new Attack("gzip", "200 MB of zeros in 200 KB of gzip, 8 times", HostileAttacks::bomb),
        new Attack("json", "JSON nested 1,001 deep, a number of 1,001 digits, a name of 50,001 characters, 60 of each",
            HostileAttacks::oddJson),
        new Attack("paths", "engines' administration, by dots and otherwise", HostileAttacks::paths),
        new Attack("fields", "fields and headers that only the router may set", HostileAttacks::fields),
        new Attack("pipelined", "20 connections with 200 pipelined requests each", HostileAttacks::pipelined),
        new Attack("readers", "300 streams that are not read", HostileAttacks::unread),
        new Attack("idle", "8,000 idle connections", HostileAttacks::idle),
        new Attack("host", "Host: evil.example to /admin/config without a key", HostileAttacks::host),
        new Attack("death", "a prompt that kills its engine, 10 times", HostileAttacks::death),
        new Attack("failures", "12 requests that the only worker answers with 500", HostileAttacks::failures));
  }

  private static Attack template(String name, String template) {
    String shown = template.length() < 80 ? template : template.substring(0, 40) + "… (" + template.length() + ")";
    return new Attack(name, "6 requests with the template " + shown + ", clients gone after 1 s", (fleet, client) -> {
      client.atOnce(6, number -> {
        try (Socket socket = client.connect()) {
          byte[] body = chat("kvasir-demo", "Hi", "\"chat_template\":\"" + template + "\"").getBytes(UTF_8);
          socket.setSoTimeout(1_000);
          OutputStream out = socket.getOutputStream();
          out.write(HostileClient.head(CHATS, body.length));
          out.write(body);
          return HostileClient.status(socket);
        }
      });
      return client.counted("200") > 0 ? "the template was rendered" : "";
    });
  }

  private static String deepTemplate(HostileFleet fleet, HostileClient client)
      throws IOException, InterruptedException {
    String deep = "{% set x=" + "(".repeat(45) + "messages" + ("[:]".repeat(200) + ")").repeat(45) + " %}";
    client.atOnce(3, number -> {
      try (Socket socket = client.connect()) {
        for (String body : List.of(
            chat("kvasir-demo", "Hi", "\"stream\":true,\"chat_template\":\"" + deep + "\""),
            chat("kvasir-demo", "Hi", "\"max_tokens\":2"))) {
          byte[] bytes = body.getBytes(UTF_8);
          socket.getOutputStream().write(HostileClient.head(CHATS, bytes.length));
          socket.getOutputStream().write(bytes);
        }
        return HostileClient.status(socket);
      }
    });
    return client.counted("500") > 0 ? "an error inside the router" : leaked(fleet);
  }

  private static String announced(HostileFleet fleet, HostileClient client) throws IOException, InterruptedException {
    client.atOnce(6_000, number -> {
      Socket socket = client.connect();
      socket.getOutputStream().write(HostileClient.head(CHATS, 10_000_000));
      socket.getOutputStream().write('{');
      return HostileClient.status(socket);
    });
    return "";
  }

  private static String bodies(HostileClient client, int count, String begin, String part, String end)
      throws InterruptedException {
    byte[] piece = part.repeat(64 * 1024 / part.length()).getBytes(UTF_8);
    long pieces = (31L * MIB) / piece.length;
    client.atOnce(count, number -> {
      try (Socket socket = client.connect()) {
        OutputStream out = socket.getOutputStream();
        long length = begin.length() + pieces * piece.length + end.length();
        out.write(HostileClient.head(CHATS, length));
        out.write(begin.getBytes(UTF_8));
        for (long i = 0; i < pieces; i++) {
          out.write(piece);
        }
        out.write(end.getBytes(UTF_8));
        return HostileClient.status(socket);
      }
    });
    return client.counted("500") > 0 ? "an error inside the router" : "";
  }

  private static String segments(HostileFleet fleet, HostileClient client) throws InterruptedException {
    byte[] body = chat("kvasir-demo", "a".repeat(MIB), "\"max_tokens\":1").getBytes(UTF_8);
    client.atOnce(8, number -> {
      try (Socket socket = client.connect()) {
        socket.getOutputStream().write(HostileClient.head(CHATS, body.length));
        for (byte each : body) {
          socket.getOutputStream().write(each);
          if (!client.hasTime()) {
            return "unfinished";
          }
        }
        return HostileClient.status(socket);
      }
    });
    return "";
  }

  private static String slowHeads(HostileFleet fleet, HostileClient client) throws InterruptedException {
    client.atOnce(4, number -> {
      try (Socket socket = client.connect()) {
        socket.getOutputStream().write("GET / HTTP/1.1\r\nHost: x\r\nX: ".getBytes(UTF_8));
        for (int i = 0; i < 16_000 && client.hasTime(); i++) {
          socket.getOutputStream().write('a');
          Thread.sleep(1);
        }
        return "unfinished";
      }
    });
    return "";
  }

  private static String bomb(HostileFleet fleet, HostileClient client) throws IOException, InterruptedException {
    ByteArrayOutputStream small = new ByteArrayOutputStream();
    try (GZIPOutputStream gzip = new GZIPOutputStream(small)) {
      for (int i = 0; i < 200; i++) {
        gzip.write(new byte[MIB]);
      }
    }
    client.atOnce(8, number -> client.post(CHATS, small.toByteArray(), "Content-Encoding", "gzip"));
    return client.counted("413") + client.counted("415") + client.counted("400") == 8 ? "" : "not refused";
  }

  private static String oddJson(HostileFleet fleet, HostileClient client) throws InterruptedException {
    List<String> odd = List.of(
        "{\"model\":\"kvasir-demo\",\"messages\":" + "[".repeat(1_001) + "]".repeat(1_001) + "}",
        "{\"model\":\"kvasir-demo\",\"messages\":[],\"n\":" + "1".repeat(1_001) + "}",
        "{\"model\":\"kvasir-demo\",\"" + "x".repeat(50_001) + "\":1}");
    client.atOnce(180, number -> client.post(CHATS, odd.get(number % 3)));
    return client.counted("400") == 180 ? "" : "not answered with 400";
  }

  private static String death(HostileFleet fleet, HostileClient client) throws InterruptedException {
    String deadly = chat(HostileFleet.MORTAL, HostileFleet.DEADLY, "\"max_tokens\":2");
    for (int i = 0; i < 10; i++) {
      client.count(status(client, deadly));
    }
    client.count("others " + status(client, chat(HostileFleet.MORTAL, "Hi", "\"max_tokens\":2")));
    String unserved = client.counted("others 200") == 1 ? "" : ", others are not served";
    return fleet.killed() > 2 || !unserved.isEmpty() ? fleet.killed() + " of 5 engines were killed" + unserved : "";
  }

  private static String failures(HostileFleet fleet, HostileClient client) throws InterruptedException {
    for (int i = 0; i < 12; i++) {
      client.count(status(client, chat(HostileFleet.FRAGILE, HostileFleet.FAILING + i, "\"max_tokens\":2")));
    }
    String others = status(client, chat(HostileFleet.FRAGILE, "Hi", "\"max_tokens\":2"));
    client.count("others " + others);
    return others.equals("200") ? "" : "others get " + others;
  }

  private static String paths(HostileFleet fleet, HostileClient client) throws InterruptedException {
    List<String> evil = List.of(
        "/sleep", "/v1/../sleep", "/v1/%2e%2e/sleep", "/v1/..;/sleep", "/v1/%252e%252e/sleep", "/v1//../sleep",
        "/v1/.%2e/sleep", "/v1\\..\\sleep", "/v1/%5c..%5csleep", "/v1/load_lora_adapter", "/v1/unload_lora_adapter",
        "/reset_prefix_cache", "/collective_rpc", "/v1/chat/completions/../../../sleep", "/v1/%2F..%2Fsleep");
    for (String target : evil) {
      client.count(status(client, target, "{\"model\":\"" + HostileFleet.FRAGILE + "\",\"mark\":\"evil path\"}"));
    }
    long reached = fleet.reached().stream().filter(each -> each.contains("evil path")).count();
    return reached == 0 ? "" : reached + " reached an engine";
  }

  private static String fields(HostileFleet fleet, HostileClient client) throws InterruptedException {
    List<String> fields = List.of(
        "kv_transfer_params", "bootstrap_host", "bootstrap_port", "bootstrap_room", "disaggregated_params",
        "kv_transfer\\u005fparams");
    for (String field : fields) {
      client.count(status(client, chat(HostileFleet.FRAGILE, "Hi", "\"" + field + "\":{\"mark\":\"forged field\"}")));
    }
    try {
      client.count(client.post(
          CHATS, chat(HostileFleet.FRAGILE, "Hi", "\"max_tokens\":2"), "X-data-parallel-rank", "7-forged field",
          "x-prefiller-host-port", "forged field"));
    } catch (IOException cut) {
      client.count("cut");
    }
    long reached = fleet.reached().stream().filter(each -> each.contains("forged field")).count();
    return reached == 0 ? "" : reached + " reached an engine";
  }

  private static String pipelined(HostileFleet fleet, HostileClient client) throws IOException, InterruptedException {
    byte[] body = chat("kvasir-demo", "Hi", "\"max_tokens\":20,\"stream\":true").getBytes(UTF_8);
    client.atOnce(20, number -> {
      try (Socket socket = client.connect()) {
        for (int i = 0; i < 200; i++) {
          socket.getOutputStream().write(HostileClient.head(CHATS, body.length));
          socket.getOutputStream().write(body);
        }
        return HostileClient.status(socket);
      }
    });
    return leaked(fleet);
  }

  private static String unread(HostileFleet fleet, HostileClient client) throws IOException, InterruptedException {
    byte[] body = chat("kvasir-demo", "Hi", "\"max_tokens\":100000,\"stream\":true").getBytes(UTF_8);
    client.atOnce(300, number -> {
      Socket socket = client.connect();
      socket.getOutputStream().write(HostileClient.head(CHATS, body.length));
      socket.getOutputStream().write(body);
      while (client.hasTime()) {
        Thread.sleep(100);
      }
      return "unread";
    });
    client.close();
    return leaked(fleet);
  }

  private static String idle(HostileFleet fleet, HostileClient client) throws InterruptedException {
    client.atOnce(8_000, number -> {
      Socket socket = client.connect();
      return HostileClient.status(socket);
    });
    return "";
  }

  private static String host(HostileFleet fleet, HostileClient client) throws IOException {
    try (HostileClient operator = new HostileClient(fleet.management(), System.nanoTime() + 5_000_000_000L)) {
      String status = operator.raw("GET /admin/config HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
      client.count(status);
      return status.equals("200") ? "it was answered" : "";
    }
  }

  /** Requests that are still in flight some time after their clients have left. */
  private static String leaked(HostileFleet fleet) throws IOException, InterruptedException {
    double inFlight = 0;
    for (int i = 0; i < 50; i++) {
      inFlight = fleet.metric("kvasir_requests_in_flight");
      if (inFlight < 10) {
        return "";
      }
      Thread.sleep(100);
    }
    return inFlight + " requests in flight";
  }

  private static String status(HostileClient client, String body) {
    return status(client, CHATS, body);
  }

  private static String status(HostileClient client, String target, String body) {
    try {
      return client.post(target, body);
    } catch (IOException cut) {
      return "cut";
    }
  }

  private static String chat(String model, String prompt, String more) {
    return "{\"model\":\"%s\",\"messages\":[{\"role\":\"user\",\"content\":\"%s\"}],%s}".formatted(model, prompt, more);
  }

  /** The attacks of these names, all of them when there are none. */
  static List<Attack> named(String... names) {
    List<Attack> found = all().stream().filter(each -> List.of(names).contains(each.name())).toList();
    if (names.length > 0 && found.size() != names.length) {
      throw new IllegalArgumentException("there are: %s; not all of %s are".formatted(
          all().stream().map(Attack::name).toList(), Arrays.toString(names)));
    }
    return names.length == 0 ? all() : found;
  }
}
