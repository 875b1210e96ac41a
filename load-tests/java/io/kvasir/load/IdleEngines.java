package io.kvasir.load;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;
import org.zeromq.SocketType;
import org.zeromq.ZContext;

/**
 * The engines of {@code load-tests/idle}, in a process of their own: each with a port for HTTP, whose {@code /metrics}
 * are as long as vLLM's, and a PUB socket that never says anything. Prints {@code http P1 P2 …} and
 * {@code events P1 P2 …}, and for each line read {@code counts CONNECTIONS REQUESTS} since its start.
 */
final class IdleEngines {
  private static final String[] HISTOGRAMS = {
    "time_to_first_token_seconds", "inter_token_latency_seconds", "request_time_per_output_token_seconds",
    "e2e_request_latency_seconds", "request_queue_time_seconds", "request_inference_time_seconds",
    "request_prefill_time_seconds", "request_decode_time_seconds", "request_prompt_tokens",
    "request_generation_tokens", "iteration_tokens_total", "request_max_num_generation_tokens", "request_params_n",
    "request_params_max_tokens", "request_prefill_kv_computed_tokens", "kv_block_lifetime_seconds"
  };
  private static final String[] GAUGES = {
    "num_requests_running", "num_requests_waiting", "kv_cache_usage_perc", "engine_sleep_state"
  };
  private static final String[] COUNTERS = {
    "prefix_cache_queries_total", "prefix_cache_hits_total", "external_prefix_cache_queries_total",
    "external_prefix_cache_hits_total", "num_preemptions_total", "prompt_tokens_total", "generation_tokens_total",
    "request_success_total"
  };
  private static final int BUCKETS = 24;

  private final byte[] well = answer("text/plain", "");
  private final byte[] metrics = answer("text/plain; version=0.0.4; charset=utf-8", metrics());

  /** What vLLM tells of its load alone, whichever names it is given. */
  private final byte[] load =
      answer(
          "text/plain; version=0.0.4; charset=utf-8",
          metrics().lines().filter(IdleEngines::isLoad).collect(Collectors.joining("\n", "", "\n")));

  private final byte[] models;
  private final byte[] missing = answer("application/json", "{}");
  private final LongAdder connections = new LongAdder();
  private final LongAdder requests = new LongAdder();

  private IdleEngines(String model) {
    this.models = answer(
        "application/json",
        "{\"object\":\"list\",\"data\":[{\"id\":\"%s\",\"object\":\"model\",\"owned_by\":\"vllm\",\"root\":\"%s\"}]}"
            .formatted(model, model));
  }

  /** Arguments: the model, and how many engines. */
  public static void main(String[] arguments) throws Exception {
    new IdleEngines(arguments[0]).run(Integer.parseInt(arguments[1]));
  }

  private void run(int engines) throws IOException {
    try (ZContext context = new ZContext(1)) {
      context.getContext().setMaxSockets(engines + 16);
      List<String> http = new ArrayList<>();
      List<String> events = new ArrayList<>();
      for (int i = 0; i < engines; i++) {
        ServerSocket listener = new ServerSocket(0, 64, InetAddress.getLoopbackAddress());
        Thread.startVirtualThread(() -> accept(listener));
        http.add(String.valueOf(listener.getLocalPort()));
        var publisher = context.createSocket(SocketType.PUB);
        events.add(String.valueOf(publisher.bindToRandomPort("tcp://127.0.0.1")));
      }
      System.out.println("http " + String.join(" ", http));
      System.out.println("events " + String.join(" ", events));
      BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      while (commands.readLine() != null) {
        System.out.println("counts " + connections.sum() + " " + requests.sum());
      }
    }
  }

  private void accept(ServerSocket listener) {
    try {
      while (true) {
        Socket socket = listener.accept();
        connections.increment();
        Thread.startVirtualThread(() -> serve(socket));
      }
    } catch (IOException e) {
      System.err.println("accepting failed: " + e);
    }
  }

  /** Bodies, which none of those that matter here has, are taken for what comes together with their head. */
  private void serve(Socket socket) {
    try (socket) {
      // As uvicorn does with connections that nothing comes on.
      socket.setSoTimeout(5_000);
      socket.setTcpNoDelay(true);
      InputStream in = socket.getInputStream();
      OutputStream out = socket.getOutputStream();
      byte[] buffer = new byte[4 << 10];
      int size = 0;
      while (true) {
        int read = in.read(buffer, size, buffer.length - size);
        if (read <= 0) {
          return;
        }
        size += read;
        String head = new String(buffer, 0, size, StandardCharsets.ISO_8859_1);
        if (head.contains("\r\n\r\n")) {
          requests.increment();
          size = 0;
          out.write(answer(head));
          if (head.toLowerCase(Locale.ROOT).contains("\r\nconnection: close")) {
            return;
          }
        }
      }
    } catch (IOException e) {
      // The router has closed the connection, or said nothing for long.
      return;
    }
  }

  private byte[] answer(String head) {
    String path = head.split(" ", 3)[1];
    if (path.startsWith("/metrics/?")) {
      return load;
    }
    return switch (path) {
      case "/health", "/health_generate", "/ping" -> well;
      case "/metrics" -> metrics;
      case "/v1/models" -> models;
      default -> missing;
    };
  }

  private static byte[] answer(String type, String body) {
    String status = body.equals("{}") ? "404 Not Found" : "200 OK";
    return "HTTP/1.1 %s\r\nserver: uvicorn\r\ncontent-type: %s\r\ncontent-length: %d\r\n\r\n%s"
        .formatted(status, type, body.length(), body)
        .getBytes(StandardCharsets.US_ASCII);
  }

  private static boolean isLoad(String line) {
    return line.matches(".*vllm:(num_requests_running|num_requests_waiting|kv_cache_usage_perc)\\b.*");
  }

  /** What an engine that has served a while reports, some 60 KB. */
  private static String metrics() {
    StringBuilder text = new StringBuilder();
    String labels = "engine=\"0\",model_name=\"meta-llama/Llama-3.1-8B-Instruct\"";
    for (String name : GAUGES) {
      head(text, name, "gauge").append("vllm:").append(name).append('{').append(labels).append("} 0.0\n");
    }
    for (String name : COUNTERS) {
      head(text, name, "counter").append("vllm:").append(name).append('{').append(labels).append("} 1.234567e+06\n");
    }
    for (String name : HISTOGRAMS) {
      head(text, name, "histogram");
      for (int bucket = 0; bucket < BUCKETS; bucket++) {
        text.append("vllm:").append(name).append("_bucket{engine=\"0\",le=\"").append(bucket * 0.25)
            .append("\",model_name=\"meta-llama/Llama-3.1-8B-Instruct\"} ").append(bucket * 1000).append(".0\n");
      }
      text.append("vllm:").append(name).append("_count{").append(labels).append("} 23000.0\n");
      text.append("vllm:").append(name).append("_sum{").append(labels).append("} 81234.567890123\n");
    }
    return text.toString();
  }

  private static StringBuilder head(StringBuilder text, String name, String type) {
    return text.append("# HELP vllm:").append(name).append(" What an engine measures of its requests.\n")
        .append("# TYPE vllm:").append(name).append(' ').append(type).append('\n');
  }
}
