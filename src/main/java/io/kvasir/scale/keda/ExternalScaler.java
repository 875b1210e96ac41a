package io.kvasir.scale.keda;

import io.grpc.Server;
import io.grpc.ServerCallHandler;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import io.kvasir.http.GrpcTls;
import io.kvasir.http.ReloadingTls;
import io.kvasir.http.TlsFiles;
import io.kvasir.scale.ScaleAdvice;
import io.kvasir.scale.ScaleAdvice.Activity;
import io.kvasir.scale.ScaleTarget;
import io.kvasir.scale.keda.wire.GetMetricSpecResponse;
import io.kvasir.scale.keda.wire.GetMetricsRequest;
import io.kvasir.scale.keda.wire.GetMetricsResponse;
import io.kvasir.scale.keda.wire.IsActiveResponse;
import io.kvasir.scale.keda.wire.MetricSpec;
import io.kvasir.scale.keda.wire.MetricValue;
import io.kvasir.scale.keda.wire.ScaledObjectRef;
import io.kvasir.scale.live.ScaleMonitor;
import io.kvasir.scale.live.ScaleReport;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * The server that KEDA calls to learn how many replicas a fleet needs, by its external scaler protocol; with its push,
 * KEDA is told at once when there is something to do. Answers come from the latest report, so no call waits.
 * Thread-safe.
 */
public final class ExternalScaler implements AutoCloseable {
  /** The metric: the workers that there should be. */
  static final String METRIC = "kvasir-desired-workers";

  private static final long KEEP_ALIVE_SECONDS = 20;
  private static final int MOST_STREAMS = 1024;
  private static final int LARGEST_MESSAGE = 64 << 10;

  private final ScaleMonitor monitor;
  private final Server server;

  /**
   * Starts to listen.
   *
   * @throws IOException when the port is taken, or the certificate cannot be used
   */
  public ExternalScaler(KedaSettings settings, ScaleMonitor monitor) throws IOException {
    this.monitor = monitor;
    NettyServerBuilder builder =
        NettyServerBuilder.forAddress(new InetSocketAddress(settings.host(), settings.port()))
            .directExecutor()
            .maxInboundMessageSize(LARGEST_MESSAGE)
            .maxConcurrentCallsPerConnection(MOST_STREAMS)
            // A client whose machine is gone ends no stream.
            .keepAliveTime(KEEP_ALIVE_SECONDS, TimeUnit.SECONDS)
            .keepAliveTimeout(KEEP_ALIVE_SECONDS, TimeUnit.SECONDS)
            .permitKeepAliveTime(5, TimeUnit.SECONDS)
            .permitKeepAliveWithoutCalls(true)
            .addService(service());
    TlsFiles tls = settings.tls();
    if (tls != null) {
      builder.sslContext(
          GrpcTls.server(new ReloadingTls(tls, NanoClock.SYSTEM).context(), tls.authorities() != null));
    }
    this.server = builder.build().start();
  }

  private ServerServiceDefinition service() {
    return ServerServiceDefinition.builder(ScalerProtocol.SERVICE)
        .addMethod(
            ScalerProtocol.IS_ACTIVE,
            unary(reference -> activity(ScaledObject.of(reference).target())))
        .addMethod(ScalerProtocol.STREAM_IS_ACTIVE, ServerCalls.asyncServerStreamingCall(this::push))
        .addMethod(
            ScalerProtocol.GET_METRIC_SPEC,
            unary(reference -> specification(ScaledObject.of(reference))))
        .addMethod(ScalerProtocol.GET_METRICS, unary(this::metrics))
        .build();
  }

  private static <Q, A> ServerCallHandler<Q, A> unary(Function<Q, A> answer) {
    return ServerCalls.asyncUnaryCall((question, observer) -> {
      try {
        observer.onNext(answer.apply(question));
        observer.onCompleted();
      } catch (StatusRuntimeException refused) {
        observer.onError(refused);
      }
    });
  }

  private IsActiveResponse activity(ScaleTarget target) {
    boolean active = known(target).activity(target) == Activity.ACTIVE;
    return IsActiveResponse.newBuilder().setResult(active).build();
  }

  private static GetMetricSpecResponse specification(ScaledObject object) {
    object.target();
    int workers = object.workersPerReplica();
    return GetMetricSpecResponse.newBuilder()
        .addMetricSpecs(
            MetricSpec.newBuilder().setMetricName(METRIC).setTargetSize(workers).setTargetSizeFloat(workers))
        .build();
  }

  private GetMetricsResponse metrics(GetMetricsRequest request) {
    ScaleTarget target = ScaledObject.of(request.getScaledObjectRef()).target();
    if (!request.getMetricName().equals(METRIC)) {
      throw Status.INVALID_ARGUMENT
          .withDescription("metricName is '%s'; there is only %s".formatted(request.getMetricName(), METRIC))
          .asRuntimeException();
    }
    ScaleReport report = known(target);
    int desired =
        report.of(target)
            .map(ScaleAdvice::desired)
            .orElseThrow(
                () -> Status.NOT_FOUND
                    .withDescription(
                        "no worker serves %s; there are %s".formatted(
                            target,
                            report.targets().stream()
                                .map(advice -> advice.target().toString())
                                .collect(Collectors.joining(", "))))
                    .asRuntimeException());
    return GetMetricsResponse.newBuilder()
        .addMetricValues(
            MetricValue.newBuilder().setMetricName(METRIC).setMetricValue(desired).setMetricValueFloat(desired))
        .build();
  }

  /** The report; a node that has just started must not have fleets shrink because it knows nothing. */
  private ScaleReport known(ScaleTarget target) {
    ScaleReport report = monitor.report();
    if (report.knowsNothing()) {
      throw unknown("this node knows no workers yet; ask again");
    }
    if (report.activity(target) == Activity.UNKNOWN) {
      throw unknown("it is not known yet whether %s has workers; ask again".formatted(target));
    }
    return report;
  }

  private static StatusRuntimeException unknown(String description) {
    return Status.UNAVAILABLE.withDescription(description).asRuntimeException();
  }

  private void push(ScaledObjectRef reference, StreamObserver<IsActiveResponse> observer) {
    ScaleTarget target;
    try {
      target = ScaledObject.of(reference).target();
    } catch (StatusRuntimeException refused) {
      observer.onError(refused);
      return;
    }
    ActivityPush.begin((ServerCallStreamObserver<IsActiveResponse>) observer, monitor, target);
  }

  /** The port that it listens on. */
  public int port() {
    return server.getPort();
  }

  /** Ends all streams. */
  @Override
  public void close() {
    server.shutdownNow();
  }
}
