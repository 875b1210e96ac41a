package io.kvasir.load;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** A router that can be started before fake engines. */
enum Router {
  KVASIR {
    @Override
    ChildProcess start(int port, List<Integer> engines, List<String> environment) throws IOException {
      return kvasir(toString(), Path.of("./kvasir"), port, engines, environment);
    }
  },
  SMG {
    @Override
    ChildProcess start(int port, List<Integer> engines, List<String> environment) throws IOException {
      return python("smg", List.of("launch", "--backend", "vllm"), port, engines, environment);
    }
  },
  VLLM_ROUTER {
    @Override
    ChildProcess start(int port, List<Integer> engines, List<String> environment) throws IOException {
      return python("vllm-router", List.of(), port, engines, environment);
    }
  },
  NGINX {
    @Override
    ChildProcess start(int port, List<Integer> engines, List<String> environment) throws IOException {
      String upstreams =
          engines.stream().map(engine -> "server 127.0.0.1:" + engine + ";").collect(Collectors.joining(" "));
      Path config = OUT.resolve("nginx.conf").toAbsolutePath();
      Files.writeString(
          config,
          """
          daemon off;
          pid %s/nginx.pid;
          worker_processes 2;
          events { worker_connections 8192; }
          http {
            access_log off;
            client_max_body_size 64m;
            client_body_buffer_size 512k;
            keepalive_requests 1000000000;
            upstream engines { %s keepalive 512; keepalive_requests 1000000000; }
            server {
              listen 127.0.0.1:%d;
              location / {
                proxy_pass http://engines;
                proxy_http_version 1.1;
                proxy_set_header Connection "";
                proxy_buffering off;
              }
            }
          }
          """
              .formatted(OUT.toAbsolutePath(), upstreams, port));
      return quiet(
          toString(), environment, List.of("nginx", "-p", OUT.toAbsolutePath().toString(), "-c", config.toString()));
    }
  };

  /** Where logs and configurations go. */
  static final Path OUT = Path.of("load-tests", "out");

  /** The model that Kvasir brings along, so that prompts are rendered and tokenised. */
  static final String MODEL = "kvasir-demo";

  /**
   * Starts it, with a cache-aware policy where it has one.
   *
   * @param port of the gateway
   * @param engines the ports of the engines
   * @param environment variables of its process, {@code NAME=value}; those of Kvasir take the place of settings that
   *     its configuration here does not have
   */
  abstract ChildProcess start(int port, List<Integer> engines, List<String> environment) throws IOException;

  /**
   * Starts a build of Kvasir.
   *
   * @param name of its log and its configuration
   * @param launcher of the checkout that has it
   */
  static ChildProcess kvasir(
      String name, Path launcher, int port, List<Integer> engines, List<String> environment) throws IOException {
    String pods =
        IntStream.range(0, engines.size())
            .mapToObj(
                i ->
                    "{ name = engine-%d, url = \"http://127.0.0.1:%d\", models = [%s], max-in-flight = 1000 }"
                        .formatted(i, engines.get(i), MODEL))
            .collect(Collectors.joining("\n    "));
    Path config = OUT.resolve(name + ".conf").toAbsolutePath();
    Files.writeString(
        config,
        """
        kvasir {
          gateway { host = "127.0.0.1", port = %d }
          access.open-routing-details = true
          models = [{ name = %s, directory = "bundled:kvasir-demo" }]
          pods = [
            %s
          ]
        }
        """
            .formatted(port, MODEL, pods));
    return quiet(name, environment, List.of(launcher.toString(), "serve", "--config", config.toString()));
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  static Router parse(String name) {
    return Arrays.stream(values())
        .filter(router -> router.toString().equals(name.strip()))
        .findFirst()
        .orElseThrow(
            () -> new IllegalArgumentException("--peers: there is no " + name + "; there are " + peers()));
  }

  static List<Router> peers() {
    return List.of(SMG, VLLM_ROUTER, NGINX);
  }

  private static ChildProcess quiet(String name, List<String> environment, List<String> command)
      throws IOException {
    List<String> all = new ArrayList<>(List.of("env"));
    all.addAll(environment);
    all.addAll(command);
    return ChildProcess.quiet(name, OUT.resolve(name + ".log"), all);
  }

  ChildProcess python(
      String program, List<String> first, int port, List<Integer> engines, List<String> environment)
      throws IOException {
    List<String> command = new ArrayList<>();
    command.add("load-tests/.venv-" + this + "/bin/" + program);
    command.addAll(first);
    command.addAll(List.of("--host", "127.0.0.1", "--port", String.valueOf(port), "--policy", "cache_aware"));
    command.addAll(List.of("--prometheus-port", String.valueOf(Ports.free()), "--worker-urls"));
    engines.forEach(engine -> command.add("http://127.0.0.1:" + engine));
    return quiet(toString(), environment, command);
  }
}
