// An OpenTelemetry Collector for the tests of traces and metrics: it takes OTLP and sends it on, as config.yaml
// says, until its standard input ends. It knows nothing of Charter but the header that the tests authenticate with.
package main

import (
	"context"
	"io"
	"log"
	"net/http"
	"os"

	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/otlphttpexporter"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

// Read of each request that comes, and set on the one that goes.
const passedHeader = "x-collector-token"

// passing sends the header on. The Collector's own extension for that is in a module that the Go proxy lacks.
type passing struct {
	component.StartFunc
	component.ShutdownFunc
}

func (passing) RoundTripper(base http.RoundTripper) (http.RoundTripper, error) {
	return sending(func(request *http.Request) (*http.Response, error) {
		request = request.Clone(request.Context())
		for _, value := range client.FromContext(request.Context()).Metadata.Get(passedHeader) {
			request.Header.Add(passedHeader, value)
		}
		return base.RoundTrip(request)
	}), nil
}

type sending func(*http.Request) (*http.Response, error)

func (send sending) RoundTrip(request *http.Request) (*http.Response, error) {
	return send(request)
}

func factories() (factories otelcol.Factories, err error) {
	factories.Telemetry = otelconftelemetry.NewFactory()
	passingFactory := extension.NewFactory(
		component.MustNewType("passing"),
		func() component.Config { return &struct{}{} },
		func(context.Context, extension.Settings, component.Config) (extension.Extension, error) {
			return passing{}, nil
		},
		component.StabilityLevelDevelopment,
	)
	if factories.Extensions, err = otelcol.MakeFactoryMap(passingFactory); err != nil {
		return factories, err
	}
	if factories.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory()); err != nil {
		return factories, err
	}
	factories.Exporters, err = otelcol.MakeFactoryMap[exporter.Factory](otlphttpexporter.NewFactory())
	return factories, err
}

func main() {
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		if err != nil {
			log.Fatal(err)
		}
		os.Exit(0)
	}()
	command := otelcol.NewCommand(otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "collector", Description: "OpenTelemetry Collector of the tests"},
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory(), envprovider.NewFactory()},
		}},
	})
	if err := command.Execute(); err != nil {
		log.Fatal(err)
	}
}
