module lapwing.example/go/lapwing

go 1.24
